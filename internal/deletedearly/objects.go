package deletedearly

import (
	"context"
	"slices"
	"sync"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Objects are the objects of one controller that are gone in spite of their finalizer. Its methods may be called
// concurrently.
type Objects[T client.Object] struct {
	finalizer string
	last      sync.Map // types.NamespacedName to T
}

// NewObjects returns Objects that know of none. The finalizer is the one by which the controller keeps its objects.
func NewObjects[T client.Object](finalizer string) *Objects[T] {
	return &Objects[T]{finalizer: finalizer}
}

// Handler hears of the deletion of objects, and has those reconciled that are gone early.
func (s *Objects[T]) Handler() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent,
		q workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		if last, ok := e.Object.(T); ok && !e.DeleteStateUnknown && s.add(last) {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(last)})
		}
	}}
}

// add remembers an object, whose last state it is given, and reports whether it is gone early. The finalizers of others
// are left out, as nobody removes them any more.
func (s *Objects[T]) add(last T) bool {
	if last.GetDeletionTimestamp() != nil || !slices.Contains(last.GetFinalizers(), s.finalizer) || isPaused(last) {
		return false
	}
	o, ok := last.DeepCopyObject().(T)
	if !ok {
		return false
	}
	o.SetDeletionTimestamp(new(metav1.Now()))
	o.SetFinalizers([]string{s.finalizer})
	s.last.Store(client.ObjectKeyFromObject(o), o)
	return true
}

// Get returns a copy of an object that is gone early, as one that is being deleted, and whether there is one.
func (s *Objects[T]) Get(key types.NamespacedName) (o T, there bool) {
	last, _ := s.last.Load(key)
	if o, there = last.(T); there {
		o, there = o.DeepCopyObject().(T)
	}
	return o, there
}

// Finished forgets an object whose resources are deleted.
func (s *Objects[T]) Finished(key types.NamespacedName) { s.last.Delete(key) }

// isPaused reports whether a user has told reconcilers to leave an object alone, by its annotation or by management
// policies that are empty.
func isPaused(o client.Object) bool {
	p, ok := o.(interface {
		GetManagementPolicies() xpv2.ManagementPolicies
	})
	return meta.IsPaused(o) || ok && len(p.GetManagementPolicies()) == 0
}
