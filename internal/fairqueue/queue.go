package fairqueue

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Shares is of how many parts of the workers a lane gets one if no other has anything to do.
const Shares = 3

// Options of a Queue of items.
type Options[T comparable] struct {
	// Name is that of the metrics. There are none without it.
	Name string
	// Workers is how many items are under way at most: no more callers of Get may be between Get and Done.
	Workers int
	// Lane returns where an item belongs, and whether somebody waits for it. Such items and the others of a lane take
	// turns. It is called when the item begins to wait, and must not call the Queue.
	Lane func(T) (lane Lane, urgent bool)
}

// A Queue is a workqueue that hands out the items of many lanes in turn. After ShutDown it hands out none.
type Queue[T comparable] struct {
	workqueue.TypedInterface[T]

	mu    sync.Mutex // taken before the lock of the workqueue
	ready *sync.Cond // signalled when a lane may have become ready
	lanes *lanes[T]
}

var _ workqueue.TypedInterface[string] = &Queue[string]{}

// New returns an empty Queue.
func New[T comparable](o Options[T]) *Queue[T] {
	q := &Queue[T]{lanes: newLanes(o.Workers, o.Lane)}
	q.ready = sync.NewCond(&q.mu)
	q.TypedInterface = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: o.Name, Queue: q.lanes})
	return q
}

// NewDelaying returns a Queue to which items can be added later.
func NewDelaying[T comparable](o Options[T]) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Name: o.Name, Queue: New(o)})
}

// ForController returns what makes the Queue of a controller with a number of workers, for its option NewQueue.
func ForController[T comparable](
	workers int, lane func(T) (lane Lane, urgent bool),
) func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
			Name:          name,
			DelayingQueue: NewDelaying(Options[T]{Name: name, Workers: workers, Lane: lane}),
		})
	}
}

// Add has an item handed out, after those of its lane that are as urgent. One that waits keeps its place unless it has
// become urgent, and one that is under way comes again when it is done.
func (q *Queue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.TypedInterface.Add(item)
	q.ready.Signal()
}

// Get waits for the next item of a lane that may have another worker. Done must be called.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.ShuttingDown() && q.lanes.Len() == 0 {
		q.ready.Wait()
	}
	if q.ShuttingDown() {
		return item, true
	}
	item, shutdown = q.TypedInterface.Get()
	if q.lanes.Len() > 0 {
		q.ready.Signal() // One call of Done may make several lanes ready.
	}
	return item, shutdown
}

// Done says that an item is no longer under way.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes.done(item)
	q.TypedInterface.Done(item)
	q.ready.Signal()
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lanes.waiting
}

// ShutDown ends the queue.
func (q *Queue[T]) ShutDown() {
	q.TypedInterface.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready.Broadcast()
}

// ShutDownWithDrain ends the queue and waits for what is under way.
func (q *Queue[T]) ShutDownWithDrain() {
	q.ShutDown()
	q.TypedInterface.ShutDownWithDrain()
}
