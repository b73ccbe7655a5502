package reference

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// turns let those who change the finalizers of one resource go one after another, and each begin with what the one before it has left.
// All at once, all but one would fail each time: the patch of one does not fit what another has changed.
type turns struct {
	mu     sync.Mutex
	queues map[place]*queue
}

// A place is where a resource is.
type place struct {
	types.NamespacedName

	resource schema.GroupVersionResource
}

// A queue is of those who change one resource.
type queue struct {
	turn   chan struct{} // holds one element while somebody has the turn
	length int           // how many have the turn or wait for it; guarded by the lock of turns
	// last is the resource as the last one in the queue has left it, nil if that is not known. It belongs to who has the turn.
	last *unstructured.Unstructured
}

func newTurns() *turns { return &turns{queues: map[place]*queue{}} }

// take waits for the turn of a caller, who must call done unless there is an error.
func (t *turns) take(ctx context.Context, p place) (q *queue, done func(), err error) {
	t.mu.Lock()
	q = t.queues[p]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		t.queues[p] = q
	}
	q.length++
	t.mu.Unlock()
	select {
	case q.turn <- struct{}{}:
		return q, func() { <-q.turn; t.leave(p, q) }, nil
	case <-ctx.Done():
		t.leave(p, q)
		return nil, nil, ctx.Err() //nolint:wrapcheck // Callers tell what it was for.
	}
}

// leave takes a caller out of a queue, and forgets one that is empty.
func (t *turns) leave(p place, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q.length--
	if q.length == 0 {
		delete(t.queues, p)
	}
}
