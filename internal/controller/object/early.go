package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
	"github.com/crossplane-contrib/provider-kcp/internal/policy"
)

// An earlyFinisher deletes what Objects have made that are gone in spite of their finalizer.
type earlyFinisher[T Object] struct {
	objects   *deletedearly.Objects[T]
	connector *connector[T]
	finalizer finalizer
	log       logging.Logger
}

// finish deletes the resource of an Object that is gone early, and reports whether nothing is left of it, or there is
// no such Object. The pass knows why it could not be done.
func (f earlyFinisher[T]) finish(ctx context.Context, key types.NamespacedName) bool {
	o, there := f.objects.Get(key)
	if !there {
		return true
	}
	left, err := f.deleteResource(ctx, o)
	if err == nil && !left {
		err = f.finalizer.letGo(ctx, o)
	}
	if err != nil || left {
		f.log.Debug("Finishing an Object that is gone in spite of its finalizer", "request", key, "error", err)
		return false
	}
	f.finalizer.forget(o)
	f.objects.Finished(client.ObjectKeyFromObject(o))
	return true
}

// deleteResource does what crossplane-runtime does with a deleted Object, and reports whether its resource is left.
func (f earlyFinisher[T]) deleteResource(ctx context.Context, o T) (left bool, err error) {
	if err := f.finalizer.references.Initialize(ctx, o); err != nil {
		return true, err
	}
	if policy.OfDeleted(o.GetManagementPolicies(), orphans(o)) != policy.Delete {
		return false, nil
	}
	e, err := f.connector.Connect(ctx, o)
	if err != nil {
		return true, err
	}
	seen, err := e.Observe(ctx, o)
	if err != nil || !seen.ResourceExists {
		return err != nil, err
	}
	_, err = e.Delete(ctx, o)
	return true, err
}
