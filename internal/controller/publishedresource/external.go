package publishedresource

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/subreconciler"
)

// An external is the published form of one PublishedResource in kcp, for one pass.
type external struct {
	phases phases
	pass   *pass
}

// Phases are who does them.
type phases struct {
	publisher  *publisher
	consumers  *consumers
	syncing    *syncing
	withdrawal *withdrawal
}

// Observe compares what is published with what should be, has the objects of consumers synced, and records in the
// status what it sees.
func (e *external) Observe(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalObservation, error) {
	var err error
	if by := e.phases; meta.WasDeleted(o) {
		err = e.pass.run(ctx, by.withdrawal.look, by.withdrawal.serve, by.withdrawal.compare)
	} else {
		err = e.pass.run(ctx, look, by.publisher.find, by.publisher.compare, by.consumers.observe, isPublished,
			by.syncing.serve, by.publisher.prune)
	}
	e.pass.describe()
	return managed.ExternalObservation{ResourceExists: e.pass.exists, ResourceUpToDate: e.pass.upToDate}, err
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
func (e *external) Create(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.publish(ctx)
}

// Update publishes what the API is now.
func (e *external) Update(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.publish(ctx)
}

// publish makes the schema and has the APIExport refer to it, in this order: kcp stops to update all bindings of an
// APIExport that refers to what does not exist.
func (e *external) publish(ctx context.Context) error {
	by := e.phases
	err := e.pass.run(ctx, by.publisher.checkWorkspace, by.publisher.createSchema, by.publisher.export,
		by.consumers.observe)
	e.pass.describe()
	return err
}

// Delete withdraws the API from the APIExport once consumers have no objects of it.
func (e *external) Delete(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalDelete, error) {
	by := e.phases.withdrawal
	return managed.ExternalDelete{}, e.pass.run(ctx, by.await, by.withdraw, by.prune)
}

// Disconnect does nothing: connections are shared, and released with the finalizer.
func (e *external) Disconnect(context.Context) error { return nil }
