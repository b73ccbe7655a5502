package publishedresource

import (
	"context"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// wokenPoll is how soon a PublishedResource is looked at again that is woken when the cause of its failure goes.
	wokenPoll = 30 * time.Second
	// unservedPoll is how soon an endpoint is asked again that does not serve an API yet.
	unservedPoll = 2 * time.Second
	// unholdPoll is how often we look whether all finalizers are off. The PublishedResource goes after unholdMax: an owner
	// who orphans does not want to wait for kcp.
	unholdPoll = time.Second
	unholdMax  = 5 * time.Minute
)

// A reconciler wraps crossplane-runtime's, gives each of its reconciles a pass, connects that to the workspace of the
// APIExport, and keeps what outlives it.
type reconciler struct {
	local        client.Client
	events       event.Recorder
	managed      reconcile.Reconciler
	connections  *connections
	memories     *memories
	publications *publication.Supervisor

	// Who does the phases of a pass.
	publisher  *publisher
	consumers  *consumers
	withdrawal *withdrawal
}

// Reconcile reconciles one PublishedResource. One that is not selected any more stays as it is, finalizers included:
// another provider takes it over. One that cannot be read is left to crossplane-runtime, which reports what is wrong or
// finishes one that is gone. Synchronization that is to end does before anything is asked of anybody: it has to end
// also if kcp or the source is out of reach.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o := &v1alpha1.PublishedResource{}
	known := r.local.Get(ctx, req.NamespacedName, o) == nil
	if known && (!r.publisher.selects(o) || !handlers.Responsible(r.connections.registry, o)) {
		r.forget(req.Name)
		return reconcile.Result{}, nil
	}
	p := &pass{memory: r.memories.get(req.Name)}
	switch {
	case known && mustRemoveFinalizers(o):
		if !r.removeFinalizers(ctx, &pass{memory: p.memory}, o) {
			return reconcile.Result{RequeueAfter: unholdPoll}, nil
		}
		r.publications.Stop(req.Name)
	case known && isSyncStopped(o):
		r.publications.Stop(req.Name)
	}
	res, err := p.quiet.Run(withPass(ctx, p), req, r.managed)
	if p.quiet.Gone {
		r.forget(req.Name)
	}
	if p.err == nil && p.workspace != nil {
		p.workspace.cluster.Retries().Forget(r.connections.owner(req.Name, ""))
	}
	if err != nil {
		return reconcile.Result{}, err // controller-runtime warns of any other result beside an error.
	}
	return r.requeue(p, req.Name, res), nil
}

// requeue returns when a PublishedResource is looked at again, as crossplane-runtime says, or as its failure asks for.
func (r *reconciler) requeue(p *pass, name string, res reconcile.Result) reconcile.Result {
	switch woken := causeOf(p.err).Woken; {
	case p.quiet.Unsaved:
		return res
	case woken && !apierrors.IsForbidden(p.err): // Nothing has to be tried before the cause goes.
		res = reconcile.Result{RequeueAfter: wokenPoll}
	case p.err != nil && p.workspace != nil && !apierrors.IsConflict(p.err):
		owner := r.connections.owner(name, "")
		if delay := p.workspace.cluster.Retries().When(owner); delay > targetresource.RetryMax {
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
	err := r.open(ctx, p, o)
	if err == nil {
		err = p.run(ctx, look, r.publisher.recall, r.consumers.observe, r.consumers.removeFinalizers)
	}
	if p.memory.releasing.IsZero() {
		p.memory.releasing = time.Now() // Before, nobody may have looked.
	}
	if err != nil && time.Since(p.memory.releasing) < unholdMax {
		return false
	}
	if err != nil {
		r.events.Event(o, event.Warning(reasonStillHeld,
			errors.Wrap(err, "consumers have to take finalizer "+objectsync.Finalizer+" from their objects")))
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

// Connect connects the pass to the workspace of a PublishedResource's APIExport.
func (r *reconciler) Connect(ctx context.Context,
	o *v1alpha1.PublishedResource,
) (managed.TypedExternalClient[*v1alpha1.PublishedResource], error) {
	p := passOf(ctx)
	return r, p.fail(r.open(ctx, p, o))
}

// open connects a pass to the workspace of an APIExport.
func (r *reconciler) open(ctx context.Context, p *pass, o *v1alpha1.PublishedResource) error {
	p.resource, p.events = o, r.events
	if !meta.WasDeleted(o) {
		if err := r.connections.publisher.Track(ctx, o); err != nil {
			return errors.Wrap(targetresource.ErrControlPlane, err.Error())
		}
	}
	owner := r.connections.owner(o.GetName(), "")
	connection, cluster, err := r.connections.connect(ctx, owner, r.connections.publisher.Ref(o))
	if err != nil {
		return err
	}
	plan, err := planOf(&o.Spec, connection.Spec.KCP)
	p.workspace = &workspace{
		connections: r.connections, name: o.GetName(), owner: owner, connection: connection, cluster: cluster,
		slices: cluster, plan: plan,
	}
	p.keepAgent()
	return err
}

// keepAgent keeps the owner under which objects have been synced, and reports another one: all that has been made would
// be somebody else's.
func (p *pass) keepAgent() {
	was, plan := p.resource.Status.AgentName, &p.workspace.plan
	if was == "" || plan.agent == "" || was == plan.agent {
		return
	}
	p.report(v1alpha1.ReasonInvalidSpec, errors.Errorf(
		"agentName cannot change from %q, with which objects were synced: to use %q, create another PublishedResource",
		was, plan.agent))
	plan.agent = was
}

// AddFinalizer adds our finalizer.
func (r *reconciler) AddFinalizer(ctx context.Context, obj resource.Object) error {
	if meta.FinalizerExists(obj, managed.FinalizerName) {
		return nil
	}
	return passOf(ctx).fail(managedadapter.PatchMetadata(ctx, r.local, obj,
		func(o client.Object) { meta.AddFinalizer(o, managed.FinalizerName) }))
}

// RemoveFinalizer removes our finalizer, and gives up all that is kept for the PublishedResource.
func (r *reconciler) RemoveFinalizer(ctx context.Context, obj resource.Object) error {
	if err := managedadapter.RemoveFinalizer(ctx, r.local, obj, managed.FinalizerName); err != nil {
		return err
	}
	r.forget(obj.GetName())
	return nil
}

// forget gives up all that is kept for a PublishedResource.
func (r *reconciler) forget(name string) {
	r.publications.Stop(name)
	r.connections.forget(name, r.memories.forget(name))
}

// Observe compares what is published with what should be, has the objects of consumers synced, and records in the
// status what it sees.
func (r *reconciler) Observe(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalObservation, error) {
	p, phases := passOf(ctx), []phase{r.withdrawal.look, r.withdrawal.serve, r.withdrawal.compare}
	if !meta.WasDeleted(o) {
		phases = []phase{
			look, r.publisher.find, r.publisher.compare, r.consumers.observe, isPublished, r.consumers.serve,
		}
	}
	err := p.run(ctx, phases...)
	p.describe()
	return managed.ExternalObservation{ResourceExists: p.exists, ResourceUpToDate: p.upToDate}, err
}

// look looks at the workspace.
func look(ctx context.Context, p *pass) error { return p.workspace.look(ctx) }

// isPublished ends a pass if the API is not published as it should be: crossplane-runtime has it published then.
func isPublished(_ context.Context, p *pass) error {
	if p.wanted == nil || p.settled && p.workspace.offers(p.wanted.resource) {
		return nil
	}
	return subreconciler.ErrStop
}

// Create publishes the API.
func (r *reconciler) Create(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, r.publish(ctx)
}

// Update publishes what the API is now.
func (r *reconciler) Update(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, r.publish(ctx)
}

// publish makes the schema and has the APIExport refer to it, in this order: kcp stops to update all bindings of an
// APIExport that refers to what does not exist.
func (r *reconciler) publish(ctx context.Context) error {
	p := passOf(ctx)
	err := p.run(ctx, r.publisher.checkWorkspace, r.publisher.createSchema, r.publisher.export, r.consumers.observe)
	p.describe()
	return err
}

// Delete withdraws the API from the APIExport once consumers have no objects of it.
func (r *reconciler) Delete(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalDelete, error) {
	w := r.withdrawal
	return managed.ExternalDelete{}, passOf(ctx).run(ctx, w.await, w.withdraw)
}

// Disconnect does nothing: connections are shared, and released with the finalizer.
func (*reconciler) Disconnect(context.Context) error { return nil }
