package diffwrite

import (
	"context"

	"github.com/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchMetadata changes the metadata of an object by a patch, unless somebody has changed the object meanwhile. What
// the object has in memory beside finalizers and annotations stays as it is, the answer of the server notwithstanding.
// An update would also write what our types make of the spec.
func PatchMetadata(ctx context.Context, c client.Client, obj client.Object, change func(client.Object)) error {
	before, ok := obj.DeepCopyObject().(client.Object)
	now, also := obj.DeepCopyObject().(client.Object)
	if !ok || !also {
		return errors.Errorf("%T is not an API object", obj)
	}
	change(now)
	if err := c.Patch(ctx, now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return errors.Wrapf(err, "cannot patch %q", obj.GetName())
	}
	obj.SetResourceVersion(now.GetResourceVersion())
	obj.SetFinalizers(now.GetFinalizers())
	obj.SetAnnotations(now.GetAnnotations())
	return nil
}

// CriticalAnnotations does not write the annotations by which crossplane-runtime finds interrupted creations.
type CriticalAnnotations struct{}

// UpdateCriticalAnnotations does nothing.
func (CriticalAnnotations) UpdateCriticalAnnotations(context.Context, client.Object) error {
	return nil
}
