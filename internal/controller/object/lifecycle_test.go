package object_test

import (
	"encoding/json"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// awaitData waits until a ConfigMap on the target has these keys and values, in turn, and no others.
func (w world) awaitData(t *testing.T, name string, data ...string) *corev1.ConfigMap {
	t.Helper()
	want := map[string]string{}
	for i := 0; i+1 < len(data); i += 2 {
		want[data[i]] = data[i+1]
	}
	return w.awaitMap(t, name, want)
}

// awaitMap waits until a ConfigMap on the target has some data.
func (w world) awaitMap(t *testing.T, name string, want map[string]string) *corev1.ConfigMap {
	t.Helper()
	cm := w.kept(name)
	kube.Await(t, w.tc, cm, "data of "+name, func() (bool, string) {
		diff := cmp.Diff(want, cm.Data, cmpopts.EquateEmpty())
		return diff == "", diff
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
		cm := w.awaitData(t, "settings", "color", "blue")

		if diff := cmp.Diff(cm.GetUID(), observed(t, o).GetUID()); diff != "" {
			t.Errorf("status.atProvider.manifest.metadata.uid: -want, +got:\n%s", diff)
		}

		o.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "settings", "shape", "round"))
		kube.Update(t, w.c, o)
		w.awaitData(t, "settings", "shape", "round")

		kube.Remove(t, w.c, o)
		kube.AwaitGone(t, w.tc, cm)
	})
}
