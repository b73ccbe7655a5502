package object_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// lose creates an Object and deletes it so that the server, which has seen no finalizer, goes on with that only when
// the Object is as far as a function wants it to be. It returns when the Object is gone.
func lose(t *testing.T, w world, o build.Object, far func(build.Object) bool) {
	t.Helper()
	gvr := schema.GroupResource{Group: "kubernetes.crossplane.io", Resource: "objects"}
	if o.GetNamespace() != "" {
		gvr.Group = "kubernetes.m.crossplane.io"
	}
	held := local.HoldDeletion(t, gvr, func(n types.NamespacedName) bool {
		now := w.scope.New()
		return w.c.Get(t.Context(), n, now) == nil && far(now)
	})
	o.SetLabels(held.Labels)
	setConfig(o, w.config+"-later") // Until the deletion is under way the Object has no target, and no finalizer.
	kube.Create(t, w.c, o)
	awaitEnd := held.Delete(t, w.c, o)
	edit(t, w.c, o, func() { setConfig(o, w.config) })
	awaitEnd()
	if err := w.c.Get(t.Context(), client.ObjectKeyFromObject(o), w.scope.New()); !apierrors.IsNotFound(err) {
		t.Fatalf("the Object must be gone without its finalizer having been removed: %v", err)
	}
}

// TestLostObject shows what becomes of an Object that is gone although the server has accepted its finalizer.
func TestLostObject(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		pinned := func(o build.Object) bool { return len(o.Observed().References) > 0 }
		settled := func(o build.Object) bool { return o.GetCondition(ready.Type).Status == corev1.ConditionTrue }
		for name, tc := range map[string]struct {
			reason string
			far    func(build.Object) bool
			change func(build.Object)
			stays  bool
		}{
			"InFirstPass": {reason: "What it makes after that goes.", far: pinned},
			"Settled": {
				reason: "What it has made goes, however long the server has taken to delete it.",
				far:    settled,
			},
			"Orphan": {
				reason: "What its policies do not let it delete stays.", far: settled, stays: true,
				change: func(o build.Object) { o.SetManagementPolicies(neverDelete) },
			},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, c, s)
				source := w.source(t, "source", nil)
				o := w.keeper("settings", w.onConfigMap("source"))
				if tc.change != nil {
					tc.change(o)
				}
				lose(t, w, o, tc.far)
				awaitPinned(t, c, o, source, false)
				err := w.tc.Get(t.Context(), client.ObjectKeyFromObject(w.kept("settings")), w.kept("settings"))
				if tc.stays != (err == nil) || !tc.stays && !apierrors.IsNotFound(err) {
					t.Errorf("%s\nresource on the target: %v", tc.reason, err)
				}
			})
		}
	})
}

// TestLostObjectMakesWay shows that an Object which has the name of a lost one is reconciled once that is finished
// with.
func TestLostObjectMakesWay(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		lose(t, w, w.keeper("settings"),
			func(o build.Object) bool { return o.GetCondition(ready.Type).Status == corev1.ConditionTrue })
		next := w.keeper("settings")
		next.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "others", "color", "red"))
		kube.Create(t, w.c, next)
		awaitReady(t, w.c, next)
		awaitData(t, w.tc, client.ObjectKeyFromObject(w.kept("others")), map[string]string{"color": "red"})
		kube.AwaitGone(t, w.tc, w.kept("settings"))
	})
}
