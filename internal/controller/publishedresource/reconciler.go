package publishedresource

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// wokenPoll is how soon a PublishedResource is looked at again that is woken when the cause of its failure goes.
const wokenPoll = 30 * time.Second

// A reconciler wraps crossplane-runtime's, and gives each of its reconciles a pass.
type reconciler struct {
	managed          reconcile.Reconciler
	owner            func(types.NamespacedName) informer.Owner
	stopSync         func(context.Context, types.NamespacedName)
	removeFinalizers func(context.Context, types.NamespacedName) time.Duration
	forget           func(types.NamespacedName)
	counts           *countWrites
	// selected reports whether a PublishedResource is to be reconciled here.
	selected func(context.Context, types.NamespacedName) bool
}

// Reconcile reconciles one PublishedResource.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.selected(ctx, req.NamespacedName) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	p := &pass{}
	p.quiet.Postpone = p.postpone(r.counts)
	r.stopSync(ctx, req.NamespacedName)
	owner := r.owner(req.NamespacedName)
	ctx = withPass(ctx, p)
	if again := r.removeFinalizers(ctx, req.NamespacedName); again > 0 {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	res, err := p.quiet.Run(ctx, req, r.managed)
	if p.quiet.Gone {
		r.forget(req.NamespacedName)
	}
	if p.err == nil && p.cluster != nil {
		p.cluster.Succeeded(owner)
	}
	switch {
	case err != nil:
		return reconcile.Result{}, err // controller-runtime warns of any other result beside an error.
	case p.quiet.Unsaved:
		return res, nil
	case p.woken:
		return p.sooner(reconcile.Result{RequeueAfter: wokenPoll}), nil
	case p.err != nil && p.cluster != nil:
		if delay := p.cluster.RetryAfter(owner, p.err, ""); delay > retryMax {
			return p.sooner(reconcile.Result{RequeueAfter: delay}), nil
		}
	}
	return p.sooner(res), nil
}

// sooner returns a result by which the PublishedResource is looked at again as soon as the pass asks for.
func (p *pass) sooner(res reconcile.Result) reconcile.Result {
	if p.again > 0 && (res.IsZero() || res.RequeueAfter > p.again) {
		res.RequeueAfter = p.again
	}
	return res
}

// pollHook returns how long until a PublishedResource is looked at again without a reason. jitter is a fraction of the
// interval.
func pollHook(jitter float64) managed.PollIntervalHook {
	return func(_ resource.Managed, interval time.Duration) time.Duration {
		spread := (rand.Float64()*2 - 1) * jitter //nolint:gosec // Jitter needs no secrecy.
		return interval + time.Duration(spread*float64(interval))
	}
}
