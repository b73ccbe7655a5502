package object_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// forScopes runs a test for both scopes.
func forScopes(t *testing.T, f func(*testing.T, build.Scope)) {
	t.Helper()
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) { f(t, s) })
	}
}

// forScopesBeside is forScopes for a test that mostly waits, and neither measures nor stops a server: it runs beside
// others of its kind, once all other tests are over.
func forScopesBeside(t *testing.T, f func(*testing.T, build.Scope)) {
	t.Helper()
	t.Parallel()
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f(t, s)
		})
	}
}

// awaitData waits until the data of a ConfigMap on the target is as wanted.
func awaitData(t *testing.T, tc client.Client, key types.NamespacedName, want map[string]string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	kube.Eventually(t, "data of "+key.String(), func() (bool, string) {
		if err := tc.Get(t.Context(), key, cm); err != nil {
			return false, err.Error()
		}
		return cmp.Equal(cm.Data, want), cmp.Diff(want, cm.Data)
	})
	return cm
}

// observed returns the ConfigMap that the status of an Object shows.
func observed(t *testing.T, o build.Object) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(o.Observed().Manifest.Raw, cm); err != nil {
		t.Fatal(err)
	}
	return cm
}

// nameOnly returns the metadata that identifies a resource.
func nameOnly(o client.Object) metav1.ObjectMeta { return build.Meta(o.GetNamespace(), o.GetName()) }

// pause pauses an Object and waits until it is.
func pause(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	annotate(t, c, o, `"true"`)
	awaitCondition(t, c, o, wantCondition{
		Type: xpv2.TypeSynced, Status: corev1.ConditionFalse, Reason: xpv2.ReasonReconcilePaused,
	})
}

// unpause lets an Object go on.
func unpause(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	annotate(t, c, o, "null")
}

func annotate(t *testing.T, c client.Client, o build.Object, paused string) {
	t.Helper()
	patch := `{"metadata":{"annotations":{"crossplane.io/paused":` + paused + `}}}`
	kube.Patch(t, c, o, patch)
}

// TestLifecycle shows that a resource is made, shown in the status, changed and deleted with its Object, and that what
// leaves the manifest leaves the resource. A defect of provider-kubernetes: in its client-side mode, which is accepted
// and ignored here, removed keys stay.
func TestLifecycle(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		o := w.keep(t, build.ConfigMap(w.target, "settings", "color", "blue"))
		cm := awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"},
			map[string]string{"color": "blue"})

		if diff := cmp.Diff(cm.GetUID(), observed(t, o).GetUID()); diff != "" {
			t.Errorf("status.atProvider.manifest.metadata.uid: -want, +got:\n%s", diff)
		}

		o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "settings", "shape", "round"))
		kube.Update(t, w.c, o)
		awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, map[string]string{"shape": "round"})

		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, cm)
	})
}
