package handlers

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// Owned returns what reports whether a resource of ours is in the slot of this replica, nil if all are.
func Owned(r *clusters.Registry) func(client.Object) bool {
	if r.Slots() == nil {
		return nil
	}
	return func(o client.Object) bool { return r.Slots().Owns(scope.Holder(o)) }
}

// InSlot lets pass the events of another predicate that are about resources in the slot of this replica, and those by
// which one comes into it or leaves it.
func InSlot(r *clusters.Registry, next predicate.Predicate) predicate.Predicate {
	owned := Owned(r)
	if owned == nil {
		return next
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return owned(e.Object) && next.Create(e) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := owned(e.ObjectOld), owned(e.ObjectNew)
			return was != is || is && next.Update(e)
		},
		DeleteFunc:  func(e event.DeleteEvent) bool { return owned(e.Object) && next.Delete(e) },
		GenericFunc: func(e event.GenericEvent) bool { return owned(e.Object) && next.Generic(e) },
	}
}

// Slot returns a reconciler of the resources that are in the slot of this replica when their turn comes. What is kept
// for others is forgotten, if forget is not nil. blank returns an empty resource.
func Slot[T client.Object](r *clusters.Registry, cache client.Reader, blank func() T,
	forget func(types.NamespacedName), next reconcile.Reconciler,
) reconcile.Reconciler {
	owned := Owned(r)
	if owned == nil {
		return next
	}
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		o := blank()
		err := cache.Get(ctx, req.NamespacedName, o, client.UnsafeDisableDeepCopy)
		if err == nil && !owned(o) {
			if forget != nil {
				forget(req.NamespacedName)
			}
			return reconcile.Result{}, nil
		}
		return next.Reconcile(ctx, req) // Also what is gone: this replica may have something left of it.
	})
}
