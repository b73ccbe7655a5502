package object_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
				cm := awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"},
					map[string]string{"color": "red"})
				holdDependents(t, w.tc, cm)
				kube.Delete(t, w.c, o)
				kube.Await(t, w.tc, cm, "the ConfigMap to be deleted", func() (bool, string) {
					return cm.DeletionTimestamp != nil, "it is not"
				})
				if got := collector(cm.Finalizers); got != s.want {
					t.Errorf("%s\nfinalizer of the garbage collector: want %q, got %q", s.reason, s.want, got)
				}
				letGo(t, w.tc, cm)
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

// holdDependents keeps a resource from going when it is deleted.
func holdDependents(t *testing.T, tc client.Client, cm *corev1.ConfigMap) {
	t.Helper()
	patch := `{"metadata":{"finalizers":["example.org/hold"]}}`
	kube.Patch(t, tc, cm, patch)
}

// letGo ends all that keeps a resource from going.
func letGo(t *testing.T, tc client.Client, cm *corev1.ConfigMap) {
	t.Helper()
	kube.Patch(t, tc, cm, `{"metadata":{"finalizers":null}}`)
}
