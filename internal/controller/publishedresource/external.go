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
	*connector

	pass *pass
}

// Observe compares what is published with what should be, has the objects of consumers synced, and records in the
// status what it sees.
func (e *external) Observe(ctx context.Context, o *v1alpha1.PublishedResource) (managed.ExternalObservation, error) {
	phases := []func(context.Context, *pass) error{
		look, e.publisher.find, e.publisher.compare, e.consumers.observe, isPublished, e.syncing.serve, e.publisher.prune,
	}
	if meta.WasDeleted(o) {
		phases = []func(context.Context, *pass) error{e.withdrawal.look, e.withdrawal.serve, e.withdrawal.compare}
	}
	err := e.pass.run(ctx, phases...)
	e.pass.describe()
	return managed.ExternalObservation{ResourceExists: e.pass.exists, ResourceUpToDate: e.pass.upToDate}, err
}

// look looks at the workspace.
func look(ctx context.Context, p *pass) error { return p.workspace.look(ctx) }

// isPublished ends a pass if the API is not published as it should be: crossplane-runtime has it published then.
func isPublished(_ context.Context, p *pass) error {
	if p.wanted != nil && !(p.settled && p.workspace.offers(p.wanted.resource)) {
		return subreconciler.ErrStop
	}
	return nil
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
	err := e.pass.run(ctx, e.publisher.checkWorkspace, e.publisher.createSchema, e.publisher.export, e.consumers.observe)
	e.pass.describe()
	return err
}

// Delete withdraws the API from the APIExport once consumers have no objects of it.
func (e *external) Delete(ctx context.Context, _ *v1alpha1.PublishedResource) (managed.ExternalDelete, error) {
	return managed.ExternalDelete{}, e.pass.run(ctx, e.withdrawal.await, e.withdrawal.withdraw, e.withdrawal.prune)
}

// Disconnect does nothing: connections are shared, and released with the finalizer.
func (e *external) Disconnect(context.Context) error { return nil }
