package deletedearly

import (
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// missedFor is how long an object that a write has missed is remembered. The event of its deletion comes within that
// time or not at all.
const missedFor = time.Minute

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// objects are the lost objects of one controller.
type objects struct {
	finalizer string

	mu     sync.Mutex
	losses map[types.NamespacedName]deletedObject
	misses map[types.UID]missedDeletion
}

// A deletedObject is an object that is lost.
type deletedObject struct {
	object client.Object
	queue  queue // of the controller
}

// A missedDeletion is an object whose status could not be written, as it was in memory.
type missedDeletion struct {
	object client.Object
	at     time.Time
}

func newObjects(finalizer string) *objects {
	return &objects{
		finalizer: finalizer, losses: map[types.NamespacedName]deletedObject{}, misses: map[types.UID]missedDeletion{},
	}
}

// get returns a copy of a lost object, nil if there is none of that name.
func (s *objects) get(key types.NamespacedName) client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.losses[key]
	if !ok {
		return nil
	}
	return copyOf(l.object)
}

// add records the loss of an object, whose last state it is given, and reports whether it is one. One that is paused is
// not: nobody can let it go on, and the next object of its name would wait for that.
func (s *objects) add(last client.Object, q queue) bool {
	if last.GetDeletionTimestamp() != nil || !slices.Contains(last.GetFinalizers(), s.finalizer) || isPaused(last) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.misses[last.GetUID()]; ok {
		last = m.object
		delete(s.misses, last.GetUID())
	}
	s.losses[client.ObjectKeyFromObject(last)] = deletedObject{object: s.leaving(last), queue: q}
	return true
}

// leaving returns a copy of an object that is being deleted and has our finalizer. Those of others nobody will remove.
func (s *objects) leaving(last client.Object) client.Object {
	o := copyOf(last)
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	o.SetFinalizers([]string{s.finalizer})
	return o
}

// missed records an object whose status could not be written as there is no such object.
func (s *objects) missed(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	if l, ok := s.losses[key]; ok && l.object.GetUID() == obj.GetUID() {
		s.losses[key] = deletedObject{object: s.leaving(obj), queue: l.queue}
		return
	}
	now := time.Now()
	for uid, m := range s.misses {
		if now.Sub(m.at) > missedFor {
			delete(s.misses, uid)
		}
	}
	s.misses[obj.GetUID()] = missedDeletion{object: copyOf(obj), at: now}
}

// written takes a write about an object if that is lost, and reports whether it is. Without the finalizer it is
// finished with, and the object that has its name now is reconciled.
func (s *objects) written(obj client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	l, ok := s.losses[key]
	if !ok || l.object.GetUID() != obj.GetUID() || obj.GetDeletionTimestamp() == nil {
		return false
	}
	if slices.Contains(obj.GetFinalizers(), s.finalizer) {
		s.losses[key] = deletedObject{object: copyOf(obj), queue: l.queue}
		return true
	}
	delete(s.losses, key)
	l.queue.Add(reconcile.Request{NamespacedName: key})
	return true
}

// isAwaited reports whether an object has the name of a lost one.
func (s *objects) isAwaited(o client.Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.losses[client.ObjectKeyFromObject(o)]
	return ok && l.object.GetUID() != o.GetUID()
}

// isPaused reports whether a user has told reconcilers to leave an object alone, by its annotation or by management
// policies that are empty.
func isPaused(o client.Object) bool {
	p, ok := o.(interface {
		GetManagementPolicies() xpv2.ManagementPolicies
	})
	return meta.IsPaused(o) || ok && len(p.GetManagementPolicies()) == 0
}

func copyOf(o client.Object) client.Object {
	c, _ := o.DeepCopyObject().(client.Object) // A copy has the type of what it is a copy of.
	return c
}
