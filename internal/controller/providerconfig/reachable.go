package providerconfig

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/diffwrite"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// A reachability sets condition Reachable of ProviderConfigs, in the status write of the reconciler that it wraps.
type reachability struct {
	registry *target.Registry
	config   scope.Config
	events   event.Recorder
	next     reconcile.Reconciler
}

// Reconcile reconciles a ProviderConfig, and records an event when its target stops answering.
func (r *reachability) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &diffwrite.Pass{}
	var lost resource.ProviderConfig
	p.Amend = func(o client.Object) {
		pc, ok := o.(resource.ProviderConfig)
		if !ok {
			return
		}
		was := pc.GetCondition(commonv1.TypeReachable)
		is, changes := reachable(was, r.registry.Health(r.config.Key(pc)), pc.GetUsers())
		if !changes {
			return
		}
		pc.SetConditions(p.Timed(is))
		if is.Status == corev1.ConditionFalse && was.Status != corev1.ConditionFalse {
			lost = pc
		}
	}
	res, err := r.next.Reconcile(diffwrite.WithPass(ctx, p), req)
	if err == nil && lost != nil {
		message := lost.GetCondition(commonv1.TypeReachable).Message
		r.events.Event(lost, event.Warning(event.Reason(commonv1.ReasonTargetUnreachable), errors.New(message)))
	}
	return res, err
}

// changes enqueues ProviderConfigs whose targets start or stop answering. It waits 500 ms, because a target may do
// both.
func (r *reachability) changes() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.registry.OnHealth(func(key string) {
			if name, ok := r.config.Named(key); ok {
				q.AddAfter(reconcile.Request{NamespacedName: name}, gatherGone)
			}
		})
		return nil
	})
}

// reachable returns condition Reachable for the health of the targets, and whether it must be set. It must not be set
// for a ProviderConfig whose targets have always answered.
func reachable(was xpv2.Condition, h target.Health, users int64) (is xpv2.Condition, changes bool) {
	is = xpv2.Condition{Type: commonv1.TypeReachable, LastTransitionTime: metav1.Now()}
	switch wasLost := was.Status == corev1.ConditionFalse; {
	case h.Err != nil:
		is.Status, is.Reason = corev1.ConditionFalse, commonv1.ReasonTargetUnreachable
		is.Message = target.UnreachableMessage(h.Err)
	case h.Known && (wasLost || was.Reason == commonv1.ReasonTargetUnused):
		is.Status, is.Reason = corev1.ConditionTrue, commonv1.ReasonTargetAnswers
	case !h.Known && users == 0 && wasLost:
		is.Status, is.Reason = corev1.ConditionUnknown, commonv1.ReasonTargetUnused
	default:
		return was, false
	}
	return is, true
}
