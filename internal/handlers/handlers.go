package handlers

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// A patient queue takes requests after a time in which more of the same may come.
type patient struct {
	queue

	gather time.Duration
}

// Add adds a request.
func (q patient) Add(r reconcile.Request) { q.AddAfter(r, q.gather) }

// Gathered has a controller take what a handler enqueues after a time in which more of the same may come: one if an
// object appears, and another if it changes or goes.
func Gathered(h handler.EventHandler, appears, goes time.Duration) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { h.Create(ctx, e, patient{q, appears}) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { h.Update(ctx, e, patient{q, goes}) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { h.Delete(ctx, e, patient{q, goes}) },
	}
}

// Targets is the source of events from targets and credentials: those who watch them add requests to the queue of a
// controller directly. Events of one object that come within the time to gather are one; zero takes each as it comes.
// Of the name of an owner counts what is before a slash: an object may be several owners, each with its connection.
func Targets(r *clusters.Registry, controller string, gather time.Duration) source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		r.OnChange(controller, func(n types.NamespacedName) {
			n.Name, _, _ = strings.Cut(n.Name, "/")
			q.AddAfter(reconcile.Request{NamespacedName: n}, gather)
		})
		return nil
	})
}

// Users wakes the users of a ProviderConfig when it appears, changes or goes.
func Users(r *clusters.Registry, c scope.Config) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { r.Wake(c.Key(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				managedadapter.WentBack(e.ObjectOld, e.ObjectNew) {
				r.Wake(c.Key(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { r.Wake(c.Key(e.Object)) },
	}
}

// Responsible reports whether a resource of ours is in the slot of this replica.
func Responsible(r *clusters.Registry, o client.Object) bool {
	return r.Slots() == nil || r.Slots().Responsible(scope.Holder(o))
}

// InSlot lets pass the events of another predicate that are about resources in the slot of this replica, and those by
// which one comes into it or leaves it.
func InSlot(r *clusters.Registry, next predicate.Predicate) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return Responsible(r, e.Object) && next.Create(e) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, is := Responsible(r, e.ObjectOld), Responsible(r, e.ObjectNew)
			return was != is || is && next.Update(e)
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return Responsible(r, e.Object) && next.Delete(e) },
	}
}
