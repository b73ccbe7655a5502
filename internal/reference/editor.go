package reference

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// editTimeout bounds the requests for one batch of changes, which no reconcile waits for.
const editTimeout = 30 * time.Second

// editsMost is how many such requests are in flight at a time. The rest of the provider needs the control plane, too.
const editsMost = 16

// An editor changes the finalizers of resources. It sends one request at a time for each resource, as concurrent
// patches would not fit what the others leave. Nobody waits for the request of another: while one is in flight, further
// changes of that resource are collected and sent together, and their owners are woken when all of theirs are made.
type editor struct {
	cluster *target.Cluster
	wake    func(informer.Owner)

	mu     sync.Mutex
	queues map[location]*queue
	queued map[informer.Owner]int // how many changes of an owner are in queues or in batches
	left   map[location]leftover
	swept  time.Time
	slots  chan struct{} // bounds the requests that no reconcile waits for
}

// A location is where a resource is.
type location struct {
	types.NamespacedName

	resource schema.GroupVersionResource
}

// locate returns where a pinned resource is.
func locate(m target.Mapping, p commonv1.PinnedReference) location {
	return location{resource: m.Resource, NamespacedName: nameOf(p)}
}

// A queue is the changes of one resource.
type queue struct {
	busy    bool // a request is in flight
	waiting []*change
	made    []*change // their owners have not asked for the result yet
	// last is the resource as the last request has left it, nil if that is not known. It belongs to the goroutine that
	// made the queue busy.
	last *unstructured.Unstructured
}

// A change adds finalizers to a resource, or removes them.
type change struct {
	owner      informer.Owner
	uid        types.UID // of the resource; any if empty
	finalizers []string
	add        bool
	last       bool          // the owner goes: it asks for the same change until all are made, and for no other
	known      metav1.Object // the last known state of the resource, nil if there is none

	answer *unstructured.Unstructured // nil if the resource is gone, or so nearly that it takes no new finalizers
	err    error
}

func newEditor(c *target.Cluster, wake func(informer.Owner)) *editor {
	return &editor{
		cluster: c, wake: wake, queues: map[location]*queue{}, queued: map[informer.Owner]int{},
		left:  map[location]leftover{},
		slots: make(chan struct{}, editsMost),
	}
}

// same reports whether two changes are one that its owner asks for again.
func (c *change) same(other *change) bool {
	return c.owner == other.owner && c.uid == other.uid && c.add == other.add &&
		slices.Equal(c.finalizers, other.finalizers)
}

// An edit makes a change of the finalizers of a resource, and returns the resource or nil if it is gone. If its error
// is a conflict, the owner is woken once all of its changes are made, and the same edit then returns the result at
// once.
type edit func(context.Context, location, change) (*unstructured.Unstructured, error)

// editFor returns how an owner makes a number of changes. One is made at once. Several would hold a worker for as many
// requests.
func (e *editor) editFor(changes int) edit {
	if changes > 1 {
		return e.later
	}
	return e.now
}

// now makes a change at once, unless another request for the resource is in flight.
func (e *editor) now(ctx context.Context, at location, c change) (*unstructured.Unstructured, error) {
	if made := e.result(at, &c); made != nil {
		return made.answer, made.err
	}
	q := e.begin(at, nil, &c)
	if q == nil {
		return nil, queuedError{}
	}
	q.last = e.send(ctx, at, nil, []*change{&c})
	if e.end(at, q) {
		go e.work(context.WithoutCancel(ctx), at, q)
	}
	return c.answer, c.err
}

// later makes a change in the background.
func (e *editor) later(ctx context.Context, at location, c change) (*unstructured.Unstructured, error) {
	if made := e.result(at, &c); made != nil {
		return made.answer, made.err
	}
	if q := e.begin(at, &c, &c); q != nil {
		go e.work(context.WithoutCancel(ctx), at, q)
	}
	return nil, queuedError{}
}

// pending reports whether changes of an owner are not made yet. It then had better not ask for results: they are of use
// together.
func (e *editor) pending(o informer.Owner) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queued[o] > 0
}

// result returns the same change if it was made in a batch, else nil. It is returned once, or each time if it is the
// last and has not failed.
func (e *editor) result(at location, c *change) *change {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queues[at]
	if q == nil {
		return nil
	}
	i := slices.IndexFunc(q.made, c.same)
	if i < 0 {
		return nil
	}
	made := q.made[i]
	if !made.last || made.err != nil {
		q.made = slices.Delete(q.made, i, i+1)
		e.tidy(at, q)
	}
	return made
}

// begin makes a queue busy and returns it, with a first change in it unless that is nil. If it is busy already, begin
// queues another change and returns nil.
func (e *editor) begin(at location, first, other *change) *queue {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queues[at]
	if q == nil {
		q = &queue{}
		e.queues[at] = q
	}
	if !q.busy {
		q.busy = true
		e.push(q, first)
		return q
	}
	e.push(q, other)
	return nil
}

// push adds a change to those that wait. The caller holds the lock.
func (e *editor) push(q *queue, c *change) {
	if c != nil && !slices.ContainsFunc(q.waiting, c.same) {
		q.waiting = append(q.waiting, c)
		e.queued[c.owner]++
	}
}

// end ends a request, and reports whether changes wait for the next one. If so, the queue stays busy.
func (e *editor) end(at location, q *queue) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(q.waiting) > 0 {
		return true
	}
	e.leave(at, q.last)
	q.busy, q.last = false, nil
	e.tidy(at, q)
	return false
}

// tidy forgets a queue without content. The caller holds the lock.
func (e *editor) tidy(at location, q *queue) {
	if !q.busy && len(q.made) == 0 {
		delete(e.queues, at)
	}
}

// work sends the changes of a busy queue in batches until none waits.
func (e *editor) work(ctx context.Context, at location, q *queue) {
	for {
		e.slots <- struct{}{}
		batch := e.take(q)
		ctx, cancel := context.WithTimeout(ctx, editTimeout)
		q.last = e.send(ctx, at, q.last, batch)
		cancel()
		<-e.slots
		e.finish(q, batch)
		if !e.end(at, q) {
			return
		}
	}
}

// take returns the changes that wait, which do so no longer.
func (e *editor) take(q *queue) []*change {
	e.mu.Lock()
	defer e.mu.Unlock()
	batch := q.waiting
	q.waiting = nil
	return batch
}

// finish keeps the results of a batch, and wakes the owners that have no further change queued.
func (e *editor) finish(q *queue, batch []*change) {
	e.mu.Lock()
	var woken []informer.Owner
	for _, c := range batch {
		if e.queued[c.owner] == 0 {
			continue // It was forgotten.
		}
		q.made = append(q.made, c)
		if e.queued[c.owner]--; e.queued[c.owner] == 0 {
			delete(e.queued, c.owner)
			woken = append(woken, c.owner)
		}
	}
	e.mu.Unlock()
	for _, o := range woken {
		e.wake(o)
	}
}

// forget drops the changes of an owner that are not made yet, and the results of those that are.
func (e *editor) forget(o informer.Owner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.queued, o)
	of := func(c *change) bool { return c.owner == o }
	for at, q := range e.queues {
		q.waiting, q.made = slices.DeleteFunc(q.waiting, of), slices.DeleteFunc(q.made, of)
		e.tidy(at, q)
	}
}
