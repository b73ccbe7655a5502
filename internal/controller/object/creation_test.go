package object_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// asWritten returns an Object as a user writes it, with no field but those a user sets: our types always have
// spec.readiness.
func asWritten(t *testing.T, c client.Client, o build.Object) *unstructured.Unstructured {
	t.Helper()
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "spec", "readiness")
	unstructured.RemoveNestedField(content, "status")
	return u
}

// TestSpecStaysAsWritten shows that the provider does not change a spec, by defaults neither: the generation of an
// Object says that.
func TestSpecStaysAsWritten(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
		kube.Create(t, w.c, asWritten(t, w.c, o))
		awaitReady(t, w.c, o)
		if o.GetGeneration() != 1 {
			t.Errorf("generation of an Object that only the provider has written: want 1, got %d", o.GetGeneration())
		}
	})
}

// TestForeignMetadataDuringCreation shows that Objects whose metadata others write while they are made get conditions,
// our finalizer and their resource at once, not with the next poll, and keep what the others wrote. Crossplane writes
// owners at such moments.
func TestForeignMetadataDuringCreation(t *testing.T) {
	const count, writes = 20, 8
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		kube.Figure(t, "from the last foreign write to Ready, at most", func() time.Duration {
			w := newWorld(t, c, s)
			slowest := time.Duration(0)
			for i := range count {
				o := s.Object(w.namespace, fmt.Sprintf("%s-%d", w.target, i), w.config,
					build.ConfigMap(w.target, fmt.Sprintf("settings-%d", i)))
				kube.Create(t, c, o)
				for n := range writes {
					claim(t, c, o, n)
				}
				began := time.Now()
				awaitReady(t, c, o)
				slowest = max(slowest, time.Since(began))
				if err := w.tc.Get(t.Context(), types.NamespacedName{Namespace: w.target, Name: fmt.Sprintf("settings-%d", i)},
					&corev1.ConfigMap{}); err != nil {
					t.Errorf("resource of Object %s: %v", o.GetName(), err)
				}
				if len(o.GetFinalizers()) != 2 || len(o.GetOwnerReferences()) != 1 {
					t.Errorf("Object %s: want our finalizer, theirs and their owner, got %v and %v", o.GetName(),
						o.GetFinalizers(), o.GetOwnerReferences())
				}
				release(t, c, o)
				kube.Delete(t, c, o)
			}
			return slowest
		})
	})
}

// foreign returns what another manager applies to the metadata of an Object.
func foreign(t *testing.T, c client.Client, o build.Object, metadata map[string]any) *unstructured.Unstructured {
	t.Helper()
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		t.Error(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(o.GetNamespace())
	u.SetName(o.GetName())
	return u
}

// claim adds a finalizer and an owner of somebody else's to an Object.
func claim(t *testing.T, c client.Client, o build.Object, n int) {
	t.Helper()
	u := foreign(t, c, o.DeepCopyObject().(build.Object), map[string]any{
		"finalizers": []any{"example.org/theirs"},
		"ownerReferences": []any{map[string]any{
			"apiVersion": "example.org/v1", "kind": "Owner", "name": fmt.Sprintf("owner-%d", n), "uid": "owner",
		}},
	})
	if err := c.Patch(t.Context(), u, client.Apply, client.ForceOwnership, client.FieldOwner("claimant")); err != nil {
		t.Error(err)
	}
}

// release gives up what claim has added.
func release(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	if err := c.Patch(t.Context(), foreign(t, c, o, map[string]any{}), client.Apply,
		client.FieldOwner("claimant")); err != nil {
		t.Error(err)
	}
}

// TestLongName shows that an Object whose name is longer than a field manager may be is applied, found again and
// deleted. A defect of provider-kubernetes: it can never apply one whose name is longer than 108 characters.
func TestLongName(t *testing.T) {
	const nameMax, managerMax = 200, 128
	forWorlds(t, func(t *testing.T, w world) {
		key := types.NamespacedName{Namespace: w.target, Name: "settings"}
		want := map[string]string{"color": "blue"}
		long := w.target + "-" + strings.Repeat("x", nameMax-len(w.target)-1)
		o := w.scope.Object(w.namespace, long, w.config, build.ConfigMap(w.target, "settings", "color", "blue"))
		createReady(t, w.c, o)
		cm := awaitData(t, w.tc, key, want)
		for _, f := range cm.GetManagedFields() {
			if len(f.Manager) > managerMax {
				t.Errorf("field manager: want at most %d characters, got %q", managerMax, f.Manager)
			}
		}
		cm.Data["color"] = "red"
		kube.Update(t, w.tc, cm)
		awaitData(t, w.tc, key, want)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, cm)
	})
}

// TestDeletionsAreSlowedDown shows that a resource which somebody deletes again and again does not make the provider
// spin.
func TestDeletionsAreSlowedDown(t *testing.T) {
	t.Parallel()
	const most = 110 // A hundred at once, one a minute after that, and some for a slow machine.
	c := provide(t)
	s := build.Cluster()
	w := newWorld(t, c, s)
	o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
	deletions := 0
	kube.Eventually(t, "the resource to stay away", func() (bool, string) {
		err := w.tc.Delete(t.Context(), emptySettings(w.target))
		if err == nil {
			deletions++
		}
		now := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err) && o.GetCondition(xpv2.TypeSynced).Reason == commonv1.ReasonContested &&
			deletions >= 100, fmt.Sprint(deletions, " deletions, ", conditions(o), now)
	})
	awaitCondition(t, c, o, failed(commonv1.ReasonContested), "it is deleted")
	if deletions > most {
		t.Errorf("want at most %d deletions, got %d", most, deletions)
	}
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
