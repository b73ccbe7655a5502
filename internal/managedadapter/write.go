package managedadapter

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FitsMost is how many bytes of an object we know of may be, for it to be written. A control plane stores 1.5 MiB by
// default; the rest is for what it adds itself, such as the managers of the fields.
const FitsMost = 1280 << 10

// saveTimeout bounds the write of a status.
const saveTimeout = 30 * time.Second

// IsTooLarge reports whether an answer means that an object is too large for the control plane. API servers hand on
// what etcd and its clients say.
func IsTooLarge(err error) bool {
	return err != nil && (apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "etcdserver: request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max"))
}

// ErrFinalizerContested means that a server accepts a change of a finalizer, and does not keep it.
var ErrFinalizerContested = errors.New("others, such as a mutating webhook, undo changes of finalizers: stop them")

// PatchMetadata changes the metadata of an object by a patch, unless somebody has changed the object meanwhile. What
// the object has in memory beside finalizers and annotations stays as it is, the answer of the server notwithstanding.
// An update would also write what our types make of the spec. The error is ErrFinalizerContested if finalizers are not
// as they were to be.
func PatchMetadata(ctx context.Context, c client.Client, obj client.Object, change func(client.Object)) error {
	before := client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{})
	now := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy of one.
	change(now)
	if err := c.Patch(ctx, now, before); err != nil {
		return errors.Wrapf(err, "cannot patch %q", obj.GetName())
	}
	obj.SetResourceVersion(now.GetResourceVersion())
	obj.SetFinalizers(now.GetFinalizers())
	obj.SetAnnotations(now.GetAnnotations())
	left := now.DeepCopyObject().(client.Object) //nolint:forcetypeassert // Likewise.
	if change(left); !slices.Equal(left.GetFinalizers(), now.GetFinalizers()) {
		return errors.Wrapf(ErrFinalizerContested, "cannot patch %q", obj.GetName())
	}
	return nil
}

// A Finalizer keeps crossplane-runtime's finalizer on an object. The external name of the object, which is its name if
// it has no other, is written along with it.
type Finalizer struct{ client.Client }

// AddFinalizer adds the finalizer if it is not there.
func (f Finalizer) AddFinalizer(ctx context.Context, obj resource.Object) error {
	if meta.FinalizerExists(obj, managed.FinalizerName) {
		return nil
	}
	return PatchMetadata(ctx, f, obj, func(o client.Object) {
		meta.AddFinalizer(o, managed.FinalizerName)
		if meta.GetExternalName(o) == "" {
			meta.SetExternalName(o, o.GetName())
		}
	})
}

// RemoveFinalizer removes the finalizer. That the object is gone is no error.
func (f Finalizer) RemoveFinalizer(ctx context.Context, obj resource.Object) error {
	err := PatchMetadata(ctx, f, obj, func(o client.Object) { meta.RemoveFinalizer(o, managed.FinalizerName) })
	return errors.Wrap(resource.IgnoreNotFound(err), "cannot remove finalizer")
}

// Save patches the status of an object if it has changed since before. That the object is gone is no error.
func Save(ctx context.Context, c client.Client, before, now client.Object) error {
	keepSame(before, now)
	if SameStatus(before, now) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	err := client.IgnoreNotFound(c.Status().Patch(ctx, now, client.MergeFrom(before)))
	return errors.Wrapf(err, "cannot write the status of %q", now.GetName())
}

// same compares times as such, and what is raw at once: equality.Semantic compares that byte by byte.
var same = conversion.EqualitiesOrDie(bytes.Equal, func(a, b metav1.Time) bool { return a.Equal(&b) })

// SameStatus reports whether two objects of one kind have the same status.
func SameStatus(a, b client.Object) bool { return same.DeepEqual(status(a), status(b)) }

func status(obj client.Object) any {
	return reflect.ValueOf(obj).Elem().FieldByName("Status").Interface()
}
