package object

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// notReadyPoll is how soon an Object that is not ready is looked at again, if the poll interval is longer.
const notReadyPoll = 30 * time.Second

// A reconciler wraps crossplane-runtime's, and gives each of its reconciles a pass.
type reconciler struct {
	managed reconcile.Reconciler
	forget  func(types.NamespacedName)
}

// Reconcile reconciles one Object.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &pass{}
	res, err := r.managed.Reconcile(withPass(ctx, p), req)
	if p.quiet.Gone {
		r.forget(req.NamespacedName)
	}
	switch {
	case err != nil || p.quiet.Unsaved:
		return res, err
	case p.woken:
		return reconcile.Result{RequeueAfter: notReadyPoll}, nil
	case p.err != nil && p.cluster != nil:
		return retryLater(res, p.cluster.RetryDelay()), nil
	case p.retry > 0:
		return reconcile.Result{RequeueAfter: p.retry}, nil
	}
	return res, nil
}

// retryLater puts off a retry, which comes within retryMax, if the target has failed too often lately.
func retryLater(res reconcile.Result, delay time.Duration) reconcile.Result {
	if delay > retryMax {
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
		return interval + time.Duration((rand.Float64()*2-1)*jitter*float64(interval)) //nolint:gosec // Jitter needs no secrecy.
	}
}
