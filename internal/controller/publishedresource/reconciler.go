package publishedresource

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

const (
	// wokenPoll is how soon a PublishedResource is looked at again that is woken when the cause of its failure goes.
	wokenPoll = 30 * time.Second
	// unholdPoll is how often we look whether all finalizers are off. The PublishedResource goes unholdMax after its
	// deletion at the latest: an owner who orphans does not want to wait for kcp.
	unholdPoll = time.Second
	unholdMax  = 2 * time.Minute
)

// A reconciler wraps crossplane-runtime's, and gives each of its reconciles a pass.
type reconciler struct {
	connector *connector
	selects   func(client.Object) bool // reports whether a PublishedResource is this provider's
	managed   reconcile.Reconciler
}

// Reconcile reconciles one PublishedResource. One that is not selected any more stays as it is, finalizers included:
// another provider takes it over. One that cannot be read is left to crossplane-runtime, which reports what is wrong or
// finishes one that is gone. Synchronization that is to end does before anything is asked of anybody: it has to end
// also if kcp or the source is out of reach.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, o := r.connector, &v1alpha1.PublishedResource{}
	known := c.local.Get(ctx, req.NamespacedName, o) == nil
	if known && (!r.selects(o) || !handlers.Owns(c.connections.registry, o)) {
		c.forget(req.Name)
		return reconcile.Result{}, nil
	}
	p := &pass{memory: c.memories.get(req.Name)}
	switch {
	case known && mustRemoveFinalizers(o):
		if !r.removeFinalizers(ctx, &pass{memory: p.memory}, o) {
			return reconcile.Result{RequeueAfter: unholdPoll}, nil
		}
		c.publications.Stop(req.Name)
	case known && isSyncStopped(o):
		c.publications.Stop(req.Name)
	}
	res, err := p.quiet.Run(withPass(ctx, p), req, r.managed)
	if p.quiet.Gone {
		c.forget(req.Name)
	}
	if p.err == nil && p.workspace != nil {
		p.workspace.cluster.Succeeded(c.connections.owner(req.Name, ""))
	}
	if err != nil {
		return reconcile.Result{}, err // controller-runtime warns of any other result beside an error.
	}
	return r.requeue(p, req.Name, res), nil
}

// requeue returns when a PublishedResource is looked at again, as crossplane-runtime says, or as its failure asks for.
func (r *reconciler) requeue(p *pass, name string, res reconcile.Result) reconcile.Result {
	switch {
	case p.quiet.Unsaved:
		return res
	case isWoken(p.err):
		res = reconcile.Result{RequeueAfter: wokenPoll}
	case p.err != nil && p.workspace != nil:
		if delay := p.workspace.cluster.RetryAfter(r.connector.connections.owner(name, ""), p.err, ""); delay > retryMax {
			res = reconcile.Result{RequeueAfter: delay}
		}
	}
	if p.again > 0 && (res.IsZero() || res.RequeueAfter > p.again) {
		res.RequeueAfter = p.again
	}
	return res
}

// removeFinalizers takes our finalizers off the objects of consumers before a PublishedResource goes that leaves what
// it has made, and reports whether it can go.
func (r *reconciler) removeFinalizers(ctx context.Context, p *pass, o *v1alpha1.PublishedResource) bool {
	c := r.connector
	err := c.open(ctx, p, o)
	if err == nil {
		by := c.phases
		err = p.run(ctx, look, by.publisher.desire, by.consumers.observe, by.syncing.removeFinalizers)
	}
	if err != nil && time.Since(o.GetDeletionTimestamp().Time) < unholdMax {
		return false
	}
	if err != nil {
		c.events.Event(o, event.Warning(reasonStillHeld,
			errors.Wrap(err, "consumers have to take finalizer "+objectsync.Finalizer+" off their objects by hand")))
	}
	return true
}

// mustRemoveFinalizers reports whether a PublishedResource goes and leaves what it has made: then nobody would take our
// finalizers off the objects of consumers.
func mustRemoveFinalizers(o *v1alpha1.PublishedResource) bool {
	deletes := o.GetDeletionPolicy() == xpv2.DeletionDelete &&
		policy.Allows(o.GetManagementPolicies(), xpv2.ManagementActionDelete)
	return meta.WasDeleted(o) && !meta.IsPaused(o) && len(o.GetManagementPolicies()) > 0 && !deletes &&
		meta.FinalizerExists(o, managed.FinalizerName) && o.Status.AgentName != ""
}
