package providerconfig

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// first lets pass that a ProviderConfig is there. Of one of another slot nothing else is heeded.
func first() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// tellVacancy says in condition Ready of a ProviderConfig of another slot that no replica has that. The replica that
// takes it sets the condition anew. Slot 0 looks after all others in this.
func (g *deletionGuard) tellVacancy(ctx context.Context, pc resource.ProviderConfig) (reconcile.Result, error) {
	slots, poll := g.registry.Slots(), reconcile.Result{RequeueAfter: retryAfter}
	if !slots.Owns("") {
		return reconcile.Result{}, nil
	}
	slot := slots.Of(g.config.Key(pc))
	is := xpv2.Condition{
		Type: xpv2.TypeReady, Status: corev1.ConditionFalse, Reason: commonv1.ReasonNoReplica,
		LastTransitionTime: metav1.Now(),
		Message: fmt.Sprintf("No replica has slot %d, so that nothing is done here: have as many replicas as --shards says",
			slot),
	}
	vacant, err := slots.Vacant(ctx, slot)
	if err != nil || !vacant || pc.GetCondition(xpv2.TypeReady).Equal(is) {
		return poll, errors.Wrap(err, "cannot find out whether a replica has a slot")
	}
	pc.SetConditions(is)
	return poll, errors.Wrap(resource.IgnoreNotFound(g.client.Status().Update(ctx, pc)),
		"cannot update status of ProviderConfig")
}
