package publishedresource

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// wokenPoll is how soon a PublishedResource is looked at again that is woken when the cause of its failure goes.
const wokenPoll = 30 * time.Second

// A reconciler wraps crossplane-runtime's, and gives each of its reconciles a pass.
type reconciler struct {
	*connector

	managed reconcile.Reconciler
}

// Reconcile reconciles one PublishedResource.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.selected(ctx, req.NamespacedName) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	p := &pass{memory: r.memories.get(req.Name)}
	r.stopSync(ctx, req.NamespacedName)
	owner := r.owner(req.Name, "")
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
	case isWoken(p.err):
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
