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
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// A readiness sets condition Ready of ProviderConfigs, and what is known of their targets, in the status write of the
// reconciler that it wraps.
type readiness struct {
	client     client.Client
	registry   *clusters.Registry
	controller string // its name
	config     scope.Config
	events     event.Recorder
	next       reconcile.Reconciler
}

// Reconcile connects to the target of a ProviderConfig, reconciles the ProviderConfig, and records an event when the
// target stops answering.
func (r *readiness) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	failed := r.connect(ctx, req.NamespacedName)
	p := &managedadapter.Reconciliation{}
	var lost resource.ProviderConfig
	p.Amend = func(o client.Object) {
		pc, ok := o.(resource.ProviderConfig)
		if !ok {
			return
		}
		h, was := r.health(pc, failed), pc.GetCondition(xpv2.TypeReady)
		r.show(pc, h)
		is, known := ready(was, h)
		if !known {
			return
		}
		pc.SetConditions(is)
		if is.Reason == commonv1.ReasonTargetUnreachable && was.Reason != commonv1.ReasonTargetUnreachable {
			lost = pc
		}
	}
	res, err := p.Run(ctx, req, r.next)
	if err == nil && lost != nil {
		message := lost.GetCondition(xpv2.TypeReady).Message
		r.events.Event(lost, event.Warning(event.Reason(commonv1.ReasonTargetUnreachable), errors.New(message)))
	}
	if failed != nil && res.IsZero() {
		res.RequeueAfter = retryAfter
	}
	return res, err
}

// show sets the URL and the version of the target. They stay while nothing is connected, as after a restart.
func (r *readiness) show(pc resource.ProviderConfig, h clusters.Health) {
	_, s := r.config.Parts(pc)
	switch {
	case s == nil:
	case h.Server != "" && s.Server != h.Server:
		s.Server, s.ServerVersion = h.Server, h.Version
	case h.Version != "":
		s.ServerVersion = h.Version
	}
}

// changes enqueues ProviderConfigs when the health of their targets may have changed: after 500 ms if something is
// wrong, and together with the new users if all is well.
func (r *readiness) changes() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.registry.OnHealth(func(key string, well bool) {
			name, ok := r.config.Named(key)
			if !ok {
				return
			}
			gather := gatherGone
			if well {
				gather = gatherNew
			}
			q.AddAfter(reconcile.Request{NamespacedName: name}, gather)
		})
		return nil
	})
}

// ready returns condition Ready for the health of the targets, and whether that is known.
func ready(was xpv2.Condition, h clusters.Health) (is xpv2.Condition, known bool) {
	is = xpv2.Condition{Type: xpv2.TypeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	switch {
	case clusters.IsUnreachable(h.Err):
		is.Reason, is.Message = commonv1.ReasonTargetUnreachable, clusters.UnreachableMessage(h.Err)
	case errors.Is(h.Err, clusters.ErrUnauthorized):
		is.Reason, is.Message = commonv1.ReasonUnauthorized, h.Err.Error()
	case h.Err != nil:
		is.Reason, is.Message = commonv1.ReasonInvalidConnection, h.Err.Error()
	case h.Known:
		is.Status, is.Reason = corev1.ConditionTrue, commonv1.ReasonTargetAnswers
	default:
		return is, false
	}
	if is.Status == was.Status {
		is.LastTransitionTime = was.LastTransitionTime
	}
	return is, true
}
