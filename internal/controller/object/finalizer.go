package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A finalizer keeps our finalizer on an Object, and writes its external name along with it.
type finalizer struct {
	local      client.Client
	events     event.Recorder
	references references
	release    func(context.Context, client.Object) error // called before an Object goes
	forget     func(client.Object)                        // called when an Object is done with
}

// AddFinalizer adds the finalizer and, if it has none, the external name, in one write. The status of the Object is left as it is in
// memory, which the answer to the write would overwrite.
func (f finalizer) AddFinalizer(ctx context.Context, obj resource.Object) error {
	if meta.FinalizerExists(obj, managed.FinalizerName) {
		return f.references.hold(ctx, obj)
	}
	err := f.update(ctx, obj, func(o client.Object) {
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
	if err := f.references.awaitDependents(ctx, obj); err != nil {
		return err
	}
	if err := f.release(ctx, obj); err != nil {
		return errors.Wrap(err, "cannot release resource")
	}
	if err := f.references.release(ctx, obj); err != nil {
		return err
	}
	err := f.update(ctx, obj, func(o client.Object) { meta.RemoveFinalizer(o, managed.FinalizerName) })
	if err := resource.IgnoreNotFound(err); err != nil {
		return errors.Wrap(err, "cannot remove finalizer")
	}
	f.forget(obj)
	if left := passOf(ctx).left; left != nil {
		f.events.Event(obj, event.Warning(reasonLeft, errors.Wrap(left, "resource is left as it is")))
	}
	return nil
}

func (f finalizer) update(ctx context.Context, obj resource.Object, change func(client.Object)) error {
	o, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("%T is not an API object", obj)
	}
	change(o)
	// A patch of the metadata: an update would also write what our types make of the spec.
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("%T is not an API object", obj)
	}
	if err := f.local.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return errors.Wrap(err, "cannot patch Object")
	}
	obj.SetResourceVersion(o.GetResourceVersion())
	obj.SetFinalizers(o.GetFinalizers())
	obj.SetAnnotations(o.GetAnnotations())
	return nil
}

// annotations does not write the annotations by which crossplane-runtime finds interrupted creations. See package quiet.
type annotations struct{}

// UpdateCriticalAnnotations does nothing.
func (annotations) UpdateCriticalAnnotations(context.Context, client.Object) error { return nil }
