package quiet

import (
	"context"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// saveTimeout bounds the write of a status.
const saveTimeout = 30 * time.Second

// Save patches the status of an object if it has changed since before. That the object is gone is no error.
func Save(ctx context.Context, c client.Client, before, now client.Object) error {
	if equality.Semantic.DeepEqual(status(before), status(now)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	err := client.IgnoreNotFound(c.Status().Patch(ctx, now, client.MergeFrom(before)))
	return errors.Wrapf(err, "cannot write the status of %q", now.GetName())
}

// PatchMetadata changes the metadata of an object by a patch, unless somebody has changed the object meanwhile. What the object has in
// memory beside finalizers and annotations stays as it is, the answer of the server notwithstanding. An update would also write what our
// types make of the spec.
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
