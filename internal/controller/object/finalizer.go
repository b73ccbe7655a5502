package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/diffwrite"
)

// A finalizer keeps our finalizer on an Object, and writes its external name along with it.
type finalizer struct {
	local      client.Client
	events     event.Recorder
	references references
	release    func(context.Context, client.Object) error // called before an Object goes
	forget     func(client.Object)                        // called when an Object is done with
}

// AddFinalizer adds the finalizer and, if it has none, the external name, in one write.
func (f finalizer) AddFinalizer(ctx context.Context, obj resource.Object) error {
	if meta.FinalizerExists(obj, managed.FinalizerName) {
		return f.references.hold(ctx, obj)
	}
	err := diffwrite.PatchMetadata(ctx, f.local, obj, func(o client.Object) {
		meta.AddFinalizer(o, managed.FinalizerName)
		if meta.GetExternalName(o) == "" {
			meta.SetExternalName(o, o.GetName())
		}
	})
	if err != nil {
		return err
	}
	return f.references.hold(ctx, obj)
}

// RemoveFinalizer removes the finalizer and gives up all that is kept for the Object.
func (f finalizer) RemoveFinalizer(ctx context.Context, obj resource.Object) error {
	if err := f.letGo(ctx, obj); err != nil {
		return err
	}
	err := diffwrite.PatchMetadata(ctx, f.local, obj,
		func(o client.Object) { meta.RemoveFinalizer(o, managed.FinalizerName) })
	if err := resource.IgnoreNotFound(err); err != nil {
		return errors.Wrap(err, "cannot remove finalizer")
	}
	f.forget(obj)
	if left := passOf(ctx).left; left != nil {
		f.events.Event(obj, event.Warning(reasonLeft, errors.Wrap(left, "resource is left as it is")))
	}
	return nil
}

// letGo gives up what others hold for a deleted Object, and what it holds of others.
func (f finalizer) letGo(ctx context.Context, obj resource.Object) error {
	if err := f.references.awaitDependents(ctx, obj); err != nil {
		return err
	}
	if err := f.release(ctx, obj); err != nil {
		return errors.Wrap(err, "cannot release resource")
	}
	return f.references.release(ctx, obj)
}
