package object

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

// notReadyPoll is how soon an Object that is not ready is looked at again, if the poll interval is longer.
const notReadyPoll = 30 * time.Second

// A reconciler wraps crossplane-runtime's, and gives each of its reconciles a pass.
type reconciler struct {
	managed reconcile.Reconciler
	forget  func(types.NamespacedName)
	poll    time.Duration
}

// Reconcile reconciles one Object.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &pass{}
	res, err := r.managed.Reconcile(withPass(ctx, p), req)
	if p.quiet.Gone {
		r.forget(req.NamespacedName)
	}
	if err != nil || p.err != nil {
		return res, err //nolint:wrapcheck // crossplane-runtime has said what failed.
	}
	switch {
	case p.retry > 0:
		return reconcile.Result{RequeueAfter: p.retry}, nil
	case p.applied:
		// The answer to the write is recorded and the watch tells what comes next, so there is no need to look again at once.
		return reconcile.Result{RequeueAfter: r.poll}, nil
	}
	return res, nil
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
