package object_test

import (
	"testing"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLeavingIsNotReady shows that a resource which somebody deletes, and a finalizer holds, is not ready, whatever the
// policy, whether its Object keeps it or only looks at it: who waits for it waits, nothing is applied to it, and it is
// made again when it is gone.
//
// provider-kubernetes says Ready, and applies the manifest to what is going.
func TestLeavingIsNotReady(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorldAs(t, c, s, "system:masters")
		kept, asked, seen := w.keeper("kept"), w.keeper("asked"), w.keeper("seen")
		asked.Desired().Readiness = queries("object.data.color == 'blue'")
		seen.Desired().ForProvider.Manifest = build.Raw(build.ConfigMap(w.target, "kept"))
		seen.SetManagementPolicies(observeOnly)
		createReady(t, c, kept, asked, seen)

		endHold, endOther := hold(t, w.tc, w.kept("kept")), hold(t, w.tc, w.kept("asked"))
		awaitReady(t, c, kept, asked, seen)
		mark := target.Audit(t).Mark()
		kube.Delete(t, w.tc, w.kept("kept"), w.kept("asked"))
		for _, o := range []build.Object{kept, asked, seen} {
			awaitMessage(t, c, o, unavailable, "The resource is being deleted; finalizers: "+theirFinalizer)
		}
		awaitCondition(t, c, seen, synced)
		for _, o := range []build.Object{kept, asked} {
			awaitCondition(t, c, o, failed(commonv1.ReasonWaitingForDeletion),
				"is being deleted; finalizers: "+theirFinalizer, "applied again when it is gone")
		}
		after := w.on("kept")
		after.DependsOn.WaitFor = commonv1.WaitForReady
		late := w.keeper("late", after)
		kube.Create(t, c, late)
		awaitCondition(t, c, late, failed(commonv1.ReasonWaitingForReference), "to be ready")
		setManifest(t, c, kept, build.ConfigMap(w.target, "kept", "color", "red"))
		w.asksNothing(t, kept, asked, seen, late)
		w.checkAsked(t, mark, nil)

		endHold()
		endOther()
		w.awaitData(t, "kept", "color", "red")
		awaitReady(t, c, kept, asked, seen, late)
		kube.Remove(t, c, late, seen, asked, kept)
	})
}
