package object_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// misshapen returns the manifest of a ConfigMap that no API server accepts.
func misshapen(namespace string) build.Manifest {
	m := build.ConfigMap(namespace, "settings")
	m["data"] = map[string]any{"color": map[string]any{"name": "blue"}}
	return m
}

// TestDeletionNeedsNoGoodSpec shows that an Object whose spec has been spoiled can be deleted, and takes along the
// resource it has made: its manifest need not be one that a server takes, nor name its namespace or a known kind.
func TestDeletionNeedsNoGoodSpec(t *testing.T) {
	for name, s := range map[string]struct {
		manifest func(namespace string) build.Manifest
		want     xpv2.ConditionReason
	}{
		"Misshapen": {manifest: misshapen, want: commonv1.ReasonInvalidManifest},
		"List": {manifest: func(string) build.Manifest {
			return build.Manifest{"apiVersion": "v1", "kind": "List", "items": []any{}}
		}, want: commonv1.ReasonInvalidManifest},
		"NamespaceRemoved": {manifest: func(string) build.Manifest {
			return build.Manifest{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings"}}
		}, want: commonv1.ReasonInvalidManifest},
		"GroupUnknown": {manifest: func(namespace string) build.Manifest {
			return nameOf("nobody.example.org/v1", "Nothing", namespace, "settings")
		}, want: commonv1.ReasonUnknownKind},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				setManifest(t, w.c, o, s.manifest(w.target))
				awaitCondition(t, w.c, o, failed(s.want))
				kube.Remove(t, w.c, o)
				w.exists(t, emptySettings(w.target), false)
			})
		})
	}
}

// TestDeletionPropagation shows that a resource is deleted as deletionPropagationPolicy says, also if that is empty, as
// provider-kubernetes has stored it: the API server takes such Objects, with changes, and the target their deletion.
func TestDeletionPropagation(t *testing.T) {
	for policy, want := range map[string]string{ // the finalizer on the resource while it is being deleted, if any
		"":           "", // provider-kubernetes stores the empty policy, with which servers refuse to delete.
		"Background": "",
		"Foreground": metav1.FinalizerDeleteDependents,
		"Orphan":     metav1.FinalizerOrphanDependents,
	} {
		t.Run("Policy"+policy, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
				kube.Create(t, w.c, o)
				kube.Patch(t, w.c, o, `{"spec":{"watch":true,"forProvider":{"deletionPropagationPolicy":"`+policy+`"}}}`)
				awaitReady(t, w.c, o)
				setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "color", "red"))
				cm := w.awaitData(t, "settings", "color", "red")
				release := hold(t, w.tc, cm)
				kube.Delete(t, w.c, o)
				kube.Await(t, w.tc, cm, "the ConfigMap to be deleted", func() (bool, string) {
					return cm.DeletionTimestamp != nil, "it is not"
				})
				others := slices.DeleteFunc(cm.Finalizers, func(f string) bool { return f == theirFinalizer })
				if got := strings.Join(others, ", "); got != want {
					t.Errorf("finalizer of the garbage collector: want %q, got %q", want, got)
				}
				release()
				kube.AwaitGone(t, w.c, o)
			})
		})
	}
}

// deleting is condition Ready of an Object whose resource is not gone yet.
var deleting = wantCondition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: xpv2.ReasonDeleting}

// awaitMessage waits until the message of a condition of an Object is as wanted.
func awaitMessage(t *testing.T, c client.Client, o build.Object, in wantCondition, want string) {
	t.Helper()
	kube.Await(t, c, o, in.String()+": "+want, func() (bool, string) {
		got := o.GetCondition(in.Type)
		return got.Status == in.Status && got.Reason == in.Reason &&
			got.Message == want, string(got.Reason) + ": " + got.Message
	})
}

// TestStuckDeletionSaysWhy shows that a deleted Object names the finalizers its resource waits for, as they come and
// go.
func TestStuckDeletionSaysWhy(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		cm := emptySettings(w.target)
		kube.Patch(t, w.tc, cm, `{"metadata":{"finalizers":["example.org/hold","example.org/account"]}}`)
		kube.Delete(t, w.c, o)
		awaitMessage(t, w.c, o, deleting,
			"Waiting for ConfigMap "+w.target+"/settings; finalizers: example.org/account, example.org/hold")
		awaitCondition(t, w.c, o, synced)
		kube.Patch(t, w.tc, cm, `{"metadata":{"finalizers":["example.org/hold"]}}`)
		awaitMessage(t, w.c, o, deleting, "Waiting for ConfigMap "+w.target+"/settings; finalizers: example.org/hold")
		staysUnwritten(t, w.c, o)
		kube.Patch(t, w.tc, cm, `{"metadata":{"finalizers":null}}`)
		kube.AwaitGone(t, w.c, o)
	})
}

// TestShortLivedObjectsLeaveNothing shows that Objects which are deleted while their first pass is under way leave
// nothing behind: neither a resource on the target nor a finalizer on what they refer to. Their deletion races the
// finalizer, and some of them are gone with it.
func TestShortLivedObjectsLeaveNothing(t *testing.T) {
	const shortLived = 300
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, s)
			shared := w.source(t, "shared", map[string]string{"color": "red"})
			var brief []string
			for i := range shortLived {
				brief = append(brief, fmt.Sprintf("brief-%d", i))
			}
			kube.AtOnce(brief, func(name string) { w.live(t, name) })
			kube.Eventually(t, "no Object, no resource and no finalizer to be left", func() (bool, string) {
				left := w.left(t, shared)
				return len(left) == 0, fmt.Sprintf("%d: %s", len(left), strings.Join(left[:min(len(left), 10)], ", "))
			})
		})
	}
}

// live creates an Object, changes it some times, so that its deletion meets each step of a pass, and deletes it.
func (w world) live(t *testing.T, name string) {
	o := w.keeper(name, w.onConfigMap("shared"))
	if err := w.c.Create(t.Context(), o); err != nil {
		t.Errorf("cannot create: %v", err)
		return
	}
	for n := range 1 + rand.N(4) {
		patch := fmt.Appendf(nil, `{"spec":{"forProvider":{"manifest":{"data":{"color":"%d"}}}}}`, n)
		if err := w.c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Errorf("cannot patch: %v", err)
		}
	}
	if err := w.c.Delete(t.Context(), o); err != nil {
		t.Errorf("cannot delete: %v", err)
	}
}

// left returns what is left of short-lived Objects on both servers.
func (w world) left(t *testing.T, shared *corev1.ConfigMap) []string {
	t.Helper()
	objs, there := w.scope.NewList(), &corev1.ConfigMapList{}
	kube.List(t, w.c, objs)
	kube.List(t, w.tc, there, client.InNamespace(w.target), client.HasLabels{commonv1.LabelKeyManaged})
	kube.Get(t, w.c, client.ObjectKeyFromObject(shared), shared)
	left := slices.Clone(shared.GetFinalizers())
	err := apimeta.EachListItem(objs, func(obj runtime.Object) error {
		if o, ok := obj.(build.Object); ok && strings.HasPrefix(o.GetName(), w.target) {
			left = append(left, "Object "+o.GetName()+" "+conditions(o))
		}
		return nil
	})
	for _, cm := range there.Items {
		left = append(left, "ConfigMap "+cm.GetName())
	}
	if err != nil {
		t.Fatal(err)
	}
	return left
}
