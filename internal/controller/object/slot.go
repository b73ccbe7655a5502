package object

import (
	"context"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
)

// InSlots returns how a cache holds Objects where replicas share the work: those of other slots without manifests, and
// of their resources what identifies them, with a hash of all that was seen as the resourceVersion. It must not be
// filled before this replica has its slot.
func InSlots(s *slot.Slots) map[client.Object]cache.ByObject {
	if s == nil {
		return nil
	}
	strip := cache.TransformStripManagedFields()
	shorten := func(obj any) (any, error) {
		if o, ok := obj.(Object); ok && !s.Owns(scope.Holder(o)) {
			seen, id, h := o.Observed(), identity(o), fnv.New64a()
			_, _ = h.Write(seen.Manifest.Raw) // A hash takes everything.
			o.Desired().ForProvider.Manifest.Raw, seen.Manifest.Raw, seen.Diff = nil, nil, nil
			if id != nil {
				id.SetResourceVersion(strconv.FormatUint(h.Sum64(), 16))
				seen.Manifest.Raw, _ = id.MarshalJSON() // It has been read from JSON.
			}
		}
		return strip(obj)
	}
	return map[client.Object]cache.ByObject{
		&objectv1alpha2.Object{}: {Transform: shorten}, &mobjectv1alpha1.Object{}: {Transform: shorten},
	}
}

// handOver leaves an Object to the slot of the ProviderConfig that it has moved to, once this one has dealt with its
// resource. If the other ProviderConfig leads to the same resource, that goes along.
func (e *external) handOver(o Object) {
	e.retry = 50 * time.Millisecond // Then it may have a claim to give up.
	o.Observed().ProviderConfigReference = nil
	if identity(o) != nil {
		o.Observed().ProviderConfigReference = new(e.config)
	}
}

// mustClaim reports whether an Object must be claimed before its resource is written to: replicas share the work, and
// nothing that the control plane has tells in which slot the resource is. One that is handed over is claimed there,
// when this slot has let it go.
func (c *reconciler[T]) mustClaim(ctx context.Context, obj client.Object) bool {
	known, ok := reconciliationOf(ctx).Last().(Object)
	slots, key := c.registry.Slots(), c.kind.Key(obj.(T)) //nolint:forcetypeassert // The reconciler is of this kind only.
	return slots != nil && slots.Owns(key) && ok && known.Observed().ProviderConfigReference == nil &&
		known.GetAnnotations()[commonv1.AnnotationKeyClaim] != key
}

// claim puts the claim of a ProviderConfig on an Object, and our finalizer, unless somebody has changed it meanwhile.
func (c *reconciler[T]) claim(ctx context.Context, obj resource.Object) error {
	key := c.kind.Key(obj.(T)) //nolint:forcetypeassert // The reconciler is of this kind only.
	return managedadapter.PatchMetadata(ctx, c.local, obj, func(o client.Object) {
		meta.AddFinalizer(o, managed.FinalizerName)
		if meta.GetExternalName(o) == "" {
			meta.SetExternalName(o, o.GetName())
		}
		meta.AddAnnotations(o, map[string]string{commonv1.AnnotationKeyClaim: key})
	})
}

// passOn reports whether an Object is left to another slot. If it refers to a ProviderConfig there by now, its claim is
// taken off first: nothing is under way for it, and its status shows no resource.
func (c *reconciler[T]) passOn(ctx context.Context, n types.NamespacedName) (bool, error) {
	if c.registry.Slots() == nil {
		return false, nil
	}
	o := c.kind.New()
	if err := c.cache.Get(ctx, n, o, client.UnsafeDisableDeepCopy); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if !handlers.Owns(c.registry, o) {
		c.forget(n)
		return true, nil
	}
	claim := o.GetAnnotations()[commonv1.AnnotationKeyClaim]
	if o.Observed().ProviderConfigReference != nil || claim == "" || claim == c.kind.Key(o) {
		return false, nil
	}
	err := managedadapter.PatchMetadata(ctx, c.local, copyOf(o), func(o client.Object) {
		meta.RemoveAnnotations(o, commonv1.AnnotationKeyClaim)
	})
	return true, errors.Wrap(client.IgnoreNotFound(err), "cannot release the Object to another shard")
}
