package object_test

import (
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// misshapen returns the manifest of a ConfigMap that no API server accepts.
func misshapen(namespace string) build.Manifest {
	m := build.ConfigMap(namespace, "settings")
	m["data"] = map[string]any{"color": map[string]any{"name": "blue"}}
	return m
}

// TestDeletionNeedsNoGoodSpec shows that an Object whose spec has been spoiled can be deleted, and takes along the
// resource it has made.
func TestDeletionNeedsNoGoodSpec(t *testing.T) {
	named := map[string]any{"name": "settings"}
	for name, s := range map[string]struct {
		reason   string
		manifest func(namespace string) build.Manifest
		want     xpv2.ConditionReason
	}{
		"Misshapen": {
			reason:   "A manifest that cannot be applied does not hold up deletion.",
			manifest: misshapen, want: commonv1.ReasonInvalidManifest,
		},
		"Invalid": {
			reason: "Nor does one that the target refuses, as for a field that is immutable.",
			manifest: func(namespace string) build.Manifest {
				return build.ConfigMap(namespace, "settings", "a key with spaces", "x")
			},
			want: commonv1.ReasonInvalidManifest,
		},
		"List": {
			reason: "Nor one that is a list.",
			manifest: func(string) build.Manifest {
				return build.Manifest{"apiVersion": "v1", "kind": "List", "items": []any{}}
			},
			want: commonv1.ReasonInvalidManifest,
		},
		"NamespaceRemoved": {
			reason: "A manifest that lost its namespace was applied when it had one.",
			manifest: func(string) build.Manifest {
				return build.Manifest{"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
			},
			want: commonv1.ReasonInvalidManifest,
		},
		"GroupUnknown": {
			reason: "The target need not serve the kind the manifest names now.",
			manifest: func(string) build.Manifest {
				return build.Manifest{"apiVersion": "nobody.example.org/v1", "kind": "Nothing", "metadata": named}
			},
			want: commonv1.ReasonUnknownKind,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
				made := observed(t, o)
				setManifest(t, w.c, o, s.manifest(w.target))
				awaitCondition(t, w.c, o, failed(s.want))
				kube.Remove(t, w.c, o)
				w.exists(t, made, false)
				if t.Failed() {
					t.Log(s.reason)
				}
			})
		})
	}
}

// TestDeletionOfNeverApplied shows that an Object which could never be applied can be deleted, and that a resource of
// its name is left alone.
func TestDeletionOfNeverApplied(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		theirs := emptySettings(w.target)
		kube.Create(t, w.tc, theirs)
		o := w.object(misshapen(w.target))
		kube.Create(t, w.c, o)
		awaitCondition(t, w.c, o, failed(commonv1.ReasonInvalidManifest))
		kube.Remove(t, w.c, o)
		w.exists(t, theirs, true) // It has not applied that.
	})
}

// TestDeletionBesideMuteWatch shows that an Object goes with its resource although the watch, which a proxy keeps open,
// tells nothing any more.
func TestDeletionBesideMuteWatch(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		server := hostile.NewServer(t, targetUser(t), hostile.Options{})
		w.config = connectAs(t, w, server.Config())
		o := w.keeper("muted")
		createReady(t, w.c, o)
		server.Set(hostile.Find(t, "Mute"), hostile.Watch)
		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, w.kept("muted"))
	})
}

// TestDeletionAfterVersionIsGone shows that a resource is deleted through another version when the one it was applied
// in is not served any more.
func TestDeletionAfterVersionIsGone(t *testing.T) {
	forWorldsBeside(t, func(t *testing.T, w world) {
		group := w.target + ".example.org"
		crd := gadgets(group)
		second := crd.Spec.Versions[0]
		second.Name, second.Storage = "v2", false
		crd.Spec.Versions = append(crd.Spec.Versions, second)
		kube.Create(t, w.tc, crd)
		o := w.keep(t, gadget(group, w.target))

		edit(t, w.tc, crd, func() {
			v := crd.Spec.Versions
			v[0].Served, v[0].Storage, v[1].Storage = false, false, true
		})
		made := &unstructured.Unstructured{Object: gadget(group, w.target)}
		kube.Eventually(t, "version v1 not to be served", func() (bool, string) {
			return w.tc.Get(t.Context(), client.ObjectKeyFromObject(made), made.DeepCopy()) != nil, "it is"
		})
		kube.Remove(t, w.c, o)
		made.SetAPIVersion(group + "/v2")
		w.exists(t, made, false)
	})
}

// TestDeletionPropagation shows that a resource is deleted as deletionPropagationPolicy says, also if that is empty, as
// provider-kubernetes has stored it: the API server takes such Objects, with changes, and the target their deletion.
func TestDeletionPropagation(t *testing.T) {
	for name, s := range map[string]struct {
		reason string
		policy string // in JSON
		want   string // finalizer on the resource while it is being deleted, if any
	}{
		// provider-kubernetes stores the empty policy, with which servers refuse to delete.
		"Empty":      {reason: "Empty means the default.", policy: `""`, want: ""},
		"Background": {reason: "Dependents follow.", policy: `"Background"`, want: ""},
		"Foreground": {reason: "Dependents go first.", policy: `"Foreground"`, want: metav1.FinalizerDeleteDependents},
		"Orphan":     {reason: "Dependents stay.", policy: `"Orphan"`, want: metav1.FinalizerOrphanDependents},
	} {
		t.Run(name, func(t *testing.T) {
			forWorlds(t, func(t *testing.T, w world) {
				o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
				kube.Create(t, w.c, o)
				patch := `{"spec":{"watch":true,"forProvider":{"deletionPropagationPolicy":` + s.policy + `}}}`
				kube.Patch(t, w.c, o, patch)
				awaitReady(t, w.c, o)
				setManifest(t, w.c, o, build.ConfigMap(w.target, "settings", "color", "red"))
				cm := w.awaitData(t, "settings", "color", "red")
				release := hold(t, w.tc, cm)
				kube.Delete(t, w.c, o)
				kube.Await(t, w.tc, cm, "the ConfigMap to be deleted", func() (bool, string) {
					return cm.DeletionTimestamp != nil, "it is not"
				})
				if got := collector(cm.Finalizers); got != s.want {
					t.Errorf("%s\nfinalizer of the garbage collector: want %q, got %q", s.reason, s.want, got)
				}
				release()
				kube.AwaitGone(t, w.c, o)
			})
		})
	}
}

// collector returns the finalizer that the garbage collector is to act on.
func collector(finalizers []string) string {
	for _, f := range finalizers {
		if f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents {
			return f
		}
	}
	return ""
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
