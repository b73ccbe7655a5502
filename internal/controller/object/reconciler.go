package object

import (
	"context"
	"math/rand/v2"
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
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// notReadyPoll is how soon an Object that is not ready is looked at again, if the poll interval is longer.
const notReadyPoll = 30 * time.Second

// earlyPoll is how soon an Object is looked at again that is gone early, if nothing else says when.
const earlyPoll = 2 * time.Second

// A reconciler wraps crossplane-runtime's, and gives each of its reconciles a pass.
type reconciler struct {
	managed    reconcile.Reconciler
	controller string
	local      client.Client
	forget     func(types.NamespacedName)
	load       *Load
	coalesce   *coalescing
	// finish finishes an Object of a name that is gone early, and reports whether there is none any more.
	finish func(context.Context, types.NamespacedName) bool
}

// Reconcile reconciles one Object.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.load.passes.Add(1)
	defer r.load.passes.Add(-1)
	p := &pass{coalesce: r.coalesce}
	owner := informer.Owner{Controller: r.controller, NamespacedName: req.NamespacedName}
	ctx = withPass(ctx, p)
	res, err := reconcile.Result{RequeueAfter: earlyPoll}, error(nil)
	if r.finish(ctx, req.NamespacedName) {
		res, err = r.managed.Reconcile(ctx, req)
	}
	if p.quiet.Gone {
		r.forget(req.NamespacedName)
	}
	if p.err == nil && p.cluster != nil {
		p.cluster.Succeeded(owner)
	}
	if p.quiet.Unsaved {
		err = r.save(ctx, p.object)
	}
	switch {
	case err != nil:
		return reconcile.Result{}, err // controller-runtime warns of any other result beside an error.
	case p.quiet.Unsaved:
		return res, nil
	case p.woken:
		return reconcile.Result{RequeueAfter: notReadyPoll}, nil
	case apierrors.IsConflict(p.err):
		return res, nil // Something was not seen yet. Nothing has failed that would be a reason to spread retries.
	case p.err != nil && p.cluster != nil:
		return retryLater(res, p.cluster.RetryAfter(owner, p.err, targetresource.Work(p.wanted, p.err))), nil
	case p.retry > 0:
		return reconcile.Result{RequeueAfter: p.retry}, nil
	}
	return res, nil
}

// save records what the Object has seen although its status could not be written, because somebody has changed the
// Object meanwhile. What the next pass finds in the manifest may be the name of another resource, and nothing else
// would tell of this one.
func (r *reconciler) save(ctx context.Context, o Object) error {
	blank, ok := o.DeepCopyObject().(Object)
	if !ok {
		return errors.Errorf("%T is not an Object", o)
	}
	*blank.Observed() = commonv1.ObjectObservation{}
	err := r.local.Status().Patch(ctx, o, client.MergeFrom(blank))
	return errors.Wrap(client.IgnoreNotFound(err), "cannot record resource")
}

// retryLater puts off a retry, which comes within targetresource.RetryMax, if the target has failed too often lately.
func retryLater(res reconcile.Result, delay time.Duration) reconcile.Result {
	if delay > targetresource.RetryMax {
		return reconcile.Result{RequeueAfter: delay}
	}
	return res
}

// pollHook returns how long until an Object is looked at again without a reason. jitter is a fraction of the interval.
func pollHook(jitter float64) managed.PollIntervalHook {
	return func(mg resource.Managed, interval time.Duration) time.Duration {
		if !isReady(mg) {
			interval = min(interval, notReadyPoll)
		}
		spread := (rand.Float64()*2 - 1) * jitter //nolint:gosec // Jitter needs no secrecy.
		return interval + time.Duration(spread*float64(interval))
	}
}
