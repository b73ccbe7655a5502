package publishedresource

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
)

// A finalizer keeps our finalizer on a PublishedResource.
type finalizer struct {
	local  client.Client
	forget func(types.NamespacedName) // called when a PublishedResource is done with
}

// AddFinalizer adds the finalizer.
func (f finalizer) AddFinalizer(ctx context.Context, obj resource.Object) error {
	if meta.FinalizerExists(obj, managed.FinalizerName) {
		return nil
	}
	return managedadapter.PatchMetadata(ctx, f.local, obj,
		func(o client.Object) { meta.AddFinalizer(o, managed.FinalizerName) })
}

// RemoveFinalizer removes the finalizer, and gives up all that is kept for the PublishedResource.
func (f finalizer) RemoveFinalizer(ctx context.Context, obj resource.Object) error {
	err := managedadapter.PatchMetadata(ctx, f.local, obj,
		func(o client.Object) { meta.RemoveFinalizer(o, managed.FinalizerName) })
	if err := resource.IgnoreNotFound(err); err != nil {
		return errors.Wrap(err, "cannot remove finalizer")
	}
	f.forget(client.ObjectKeyFromObject(obj))
	return nil
}
