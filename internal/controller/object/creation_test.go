package object_test

import (
	"fmt"
	"strconv"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestForeignMetadataDuringCreation shows that Objects whose metadata others write while they are made get conditions,
// our finalizer and their resource, and keep what the others wrote. Crossplane writes owners at such moments.
func TestForeignMetadataDuringCreation(t *testing.T) {
	const count, writes = 20, 8
	forWorlds(t, func(t *testing.T, w world) {
		for i := range count {
			o := w.keeper(strconv.Itoa(i))
			kube.Create(t, w.c, o)
			for n := range writes {
				claim(t, w.c, o, map[string]any{
					"finalizers": []any{theirFinalizer},
					"ownerReferences": []any{map[string]any{
						"apiVersion": "example.org/v1", "kind": "Owner", "name": fmt.Sprintf("owner-%d", n), "uid": "owner",
					}},
				})
			}
			awaitReady(t, w.c, o)
			w.exists(t, w.kept(strconv.Itoa(i)), true)
			if len(o.GetFinalizers()) != 2 || len(o.GetOwnerReferences()) != 1 {
				t.Errorf("Object %s: want our finalizer, theirs and their owner, got %v and %v", o.GetName(),
					o.GetFinalizers(), o.GetOwnerReferences())
			}
			claim(t, w.c, o, map[string]any{})
			kube.Delete(t, w.c, o)
		}
	})
}

// claim applies what somebody else wants in the metadata of an Object, in place of what that was before.
func claim(t *testing.T, c client.Client, o build.Object, metadata map[string]any) {
	t.Helper()
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	applyAs(t, c, u.Object, "claimant")
}

// TestFightIsTold shows that two Objects which set one field to different values end their fight, and that each is told
// of the other.
func TestFightIsTold(t *testing.T) {
	c := provide(t)
	w := newWorld(t, c, build.Namespaced())
	color := func(name, value string) build.Object {
		o := w.scope.Object(w.namespace, w.target+"-"+name, w.config, build.ConfigMap(w.target, "settings", "color", value))
		kube.Create(t, c, o)
		return o
	}
	first, second := color("first", "blue"), color("second", "red")
	for _, o := range []build.Object{first, second} {
		awaitCondition(t, c, o, wantCondition{
			Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: commonv1.ReasonContested,
		}, ".data.color is set by")
	}
}
