package handlers

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// Owns reports whether a resource of ours is in the slot of this replica.
func Owns(r *clusters.Registry, o client.Object) bool {
	return r.Slots() == nil || r.Slots().Owns(scope.Holder(o))
}

// Owned returns Owns for a Registry.
func Owned(r *clusters.Registry) func(client.Object) bool {
	return func(o client.Object) bool { return Owns(r, o) }
}

// InSlot lets pass the events of another predicate that are about resources in the slot of this replica, and those by
// which one comes into it or leaves it.
func InSlot(r *clusters.Registry, next predicate.Predicate) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return Owns(r, e.Object) && next.Create(e) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := Owns(r, e.ObjectOld), Owns(r, e.ObjectNew)
			return was != is || is && next.Update(e)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return Owns(r, e.Object) && next.Delete(e) },
	}
}
