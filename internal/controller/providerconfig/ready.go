package providerconfig

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// A reconciler keeps deleted ProviderConfigs that are in use. It sets condition Ready of others, and what is known of
// their targets, in the status write of crossplane-runtime's reconciler, which it wraps.
type reconciler struct {
	client     client.Client
	registry   *clusters.Registry
	controller string // its name
	config     scope.Config
	events     event.Recorder
	next       reconcile.Reconciler
}

// Reconcile connects to the target of a ProviderConfig, reconciles the ProviderConfig unless it is deleted and still in
// use, and records an event when the target stops answering.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	pc := r.config.New()
	if err := resource.IgnoreNotFound(r.client.Get(ctx, req.NamespacedName, pc)); err != nil {
		return reconcile.Result{}, errors.Wrap(err, "cannot get ProviderConfig")
	}
	if pc.GetUID() != "" && !handlers.Responsible(r.registry, pc) {
		return reconcile.Result{}, nil
	}
	if meta.WasDeleted(pc) && len(pc.GetFinalizers()) > 0 {
		n, err := r.users(ctx, pc)
		if err != nil {
			return reconcile.Result{}, err
		}
		if n > 0 {
			return reconcile.Result{RequeueAfter: countAgain}, r.hold(ctx, pc, n)
		}
	}
	failed := r.connect(ctx, req.NamespacedName, pc)
	p := &managedadapter.Reconciliation{}
	var lost resource.ProviderConfig
	p.Amend = func(o client.Object) {
		pc := o.(resource.ProviderConfig) //nolint:forcetypeassert // The reconciler is of these only.
		h, was := r.health(ctx, pc, failed), pc.GetCondition(xpv2.TypeReady)
		show(pc, h)
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
func show(pc resource.ProviderConfig, h clusters.Health) {
	_, s := scope.Parts(pc)
	switch {
	case h.Server != "" && s.Server != h.Server:
		s.Server, s.ServerVersion = h.Server, h.Version
	case h.Version != "":
		s.ServerVersion = h.Version
	}
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

// retryAfter is when a ProviderConfig is tried again that cannot be used, if nothing wakes it before.
const retryAfter = time.Minute

// connect makes a ProviderConfig a user of its own target, and has the target judge the credentials unless others use
// them or it has accepted them before. Its errors are those of clusters.Registry.Connect and
// clusters.Cluster.TryCredentials.
func (r *reconciler) connect(ctx context.Context, key client.ObjectKey, pc resource.ProviderConfig) error {
	o := informer.Owner{Controller: r.controller, NamespacedName: key}
	if pc.GetUID() == "" { // It is gone.
		r.registry.Forget(o)
		return nil
	}
	if meta.WasDeleted(pc) {
		return nil // Its users know what they need of it.
	}
	r.registry.Bind(o, r.config.Key(pc))
	c, err := r.registry.Connect(ctx, o, r.described(pc))
	if err != nil || pc.GetUsers() > 0 {
		return err
	}
	return c.TryCredentials(ctx)
}

// described returns what a ProviderConfig says. A ServiceAccount of the namespace of each user is left out if the
// ProviderConfig has no namespace: it is tried as whom its credentials say.
func (r *reconciler) described(pc resource.ProviderConfig) commonv1.Connection {
	c := r.config.Connection(pc)
	if i := c.Spec.Impersonate; i != nil && i.ServiceAccountName != "" && c.Shared != nil {
		c.Spec = c.Spec.DeepCopy()
		c.Spec.Impersonate = nil
	}
	return c
}

// health returns what is known of the targets of a ProviderConfig, given the error of connect. It is not known while it
// is too early to tell. A selector that cannot be read is told also while the namespaces that are named connect.
func (r *reconciler) health(ctx context.Context, pc resource.ProviderConfig, err error) clusters.Health {
	h := r.registry.Health(r.config.Key(pc))
	admitted := r.registry.Admit(ctx, informer.Owner{Controller: r.controller}, r.config.Connection(pc)) == nil
	switch {
	case err == nil || h.Err != nil:
	case admitted && !clusters.IsUnreachable(err) &&
		(h.Known || apierrors.IsConflict(err) || errors.Is(err, clusters.ErrUnauthorized)):
		h.Known = false
	default:
		h.Err = err
	}
	return h
}
