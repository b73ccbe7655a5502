package object

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// notReadyPoll is how soon an Object that waits to be woken is reconciled again.
	notReadyPoll = 30 * time.Second
	// earlyPoll is how soon an Object is reconciled again that is gone early, if nothing else says when.
	earlyPoll = 2 * time.Second
)

// A reconciler wraps crossplane-runtime's.
type reconciler struct {
	managed    reconcile.Reconciler
	controller string
	local      client.Client
	forget     func(types.NamespacedName)
	coalesce   coalescing
	// finish finishes an Object of a name that is gone early, and reports whether there is none any more.
	finish func(context.Context, types.NamespacedName) bool
}

// Reconcile reconciles one Object.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &reconciliation{}
	p.adapter.Postpone = r.coalesce.postponed(p)
	ctx = p.with(ctx)
	res, err := reconcile.Result{RequeueAfter: earlyPoll}, error(nil)
	if r.finish(ctx, req.NamespacedName) {
		res, err = p.adapter.Run(ctx, req, r.managed)
	}
	if p.adapter.Gone {
		r.forget(req.NamespacedName)
	}
	owner := informer.Owner{Controller: r.controller, NamespacedName: req.NamespacedName}
	if p.err == nil && p.cluster != nil {
		p.cluster.Succeeded(owner)
	}
	if p.adapter.Unsaved {
		err = r.save(ctx, p.object)
	}
	switch {
	case err != nil:
		return reconcile.Result{}, err // controller-runtime warns of any other result beside an error.
	case p.adapter.Unsaved:
		return res, nil
	case p.woken:
		return reconcile.Result{RequeueAfter: notReadyPoll}, nil
	case apierrors.IsConflict(p.err):
		return res, nil // Something was not seen yet. Nothing has failed that would be a reason to spread retries.
	case p.err != nil && p.cluster != nil:
		delay := p.cluster.RetryAfter(owner, p.err, targetresource.Work(p.wanted, p.err))
		if delay > targetresource.RetryMax {
			return reconcile.Result{RequeueAfter: delay}, nil // The target has failed too often lately.
		}
	case p.retry > 0:
		return reconcile.Result{RequeueAfter: p.retry}, nil
	}
	return res, nil
}

// save records what the Object has seen although its status could not be written, because somebody has changed the
// Object meanwhile. What the next reconcile finds in the manifest may be the name of another resource, and nothing else
// would tell of this one.
func (r *reconciler) save(ctx context.Context, o Object) error {
	blank := copyOf(o)
	*blank.Observed() = commonv1.ObjectObservation{}
	err := r.local.Status().Patch(ctx, o, client.MergeFrom(blank))
	return errors.Wrap(client.IgnoreNotFound(err), "cannot record resource")
}

// pollHook returns how long until an Object is reconciled again without a reason. jitter is a fraction of the interval.
func pollHook(jitter float64) managed.PollIntervalHook {
	return func(mg resource.Managed, interval time.Duration) time.Duration {
		p := managedadapter.Poll{Interval: interval, Jitter: jitter}
		if !isReady(mg) {
			return p.Waiting()
		}
		return p.Settled()
	}
}
