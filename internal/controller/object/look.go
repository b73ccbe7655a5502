package object

import (
	"context"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// purposeManifest is the resource of an Object's manifest.
const purposeManifest informer.Purpose = "manifest"

// look finds the live resource. It asks the target only where no watch can tell.
func (e *external) look(ctx context.Context, o Object) error {
	owns := owns(o)
	scopes := []informer.Stream{informer.StreamByName}
	if owns {
		scopes = e.remote().Labelled()
	}
	var err error
	if e.live, err = e.remote().See(ctx, scopes...); err == nil && e.live == nil && owns && appliedByClient(o) {
		return e.ask(ctx) // It may only lack our label.
	}
	return err
}

// find finds the live resource like look, and asks the target if no watch shows it: it may only have lost our label.
func (e *external) find(ctx context.Context, o Object) error {
	if err := e.look(ctx, o); err != nil || e.live != nil || !e.mapping.Watchable {
		return err
	}
	return e.ask(ctx)
}

// ask reads the resource from the target.
func (e *external) ask(ctx context.Context) error {
	var err error
	e.live, err = e.remote().Ask(ctx)
	return err
}

// remote returns the resource as package targetresource deals with it.
func (e *external) remote() targetresource.Resource {
	return targetresource.Resource{
		Cluster: e.cluster, Owner: e.owner, Purpose: purposeManifest, Manifest: e.manifest, Mapping: e.mapping,
	}
}
