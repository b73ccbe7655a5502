package quiet

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchMetadata changes the metadata of an object, and nothing else: an update would also write what our types make of the spec. The status
// of the object is left as it is in memory, which the answer to the write would overwrite.
func PatchMetadata(ctx context.Context, c client.Client, obj resource.Object, change func(client.Object)) error {
	o, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("%T is not an API object", obj)
	}
	change(o)
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("%T is not an API object", obj)
	}
	if err := c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return errors.Wrapf(err, "cannot patch %s", obj.GetObjectKind().GroupVersionKind().Kind)
	}
	obj.SetResourceVersion(o.GetResourceVersion())
	obj.SetFinalizers(o.GetFinalizers())
	obj.SetAnnotations(o.GetAnnotations())
	return nil
}

// CriticalAnnotations does not write the annotations by which crossplane-runtime finds interrupted creations.
type CriticalAnnotations struct{}

// UpdateCriticalAnnotations does nothing.
func (CriticalAnnotations) UpdateCriticalAnnotations(context.Context, client.Object) error {
	return nil
}
