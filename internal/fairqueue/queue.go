package fairqueue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Shares is of how many parts of the workers a flow gets one if no other has anything to do.
const Shares = 3

// Options of a Queue of items.
type Options[T comparable] struct {
	// Name is that of the metrics. There are none without it.
	Name string
	// Workers is how many items are under way at most: no more callers of Get may be between Get and Done.
	Workers int
	// Flow returns where an item belongs, and whether somebody waits for it. Such items and the others of a flow take
	// turns. It is called when the item begins to wait, and must not call the Queue.
	Flow func(T) (flow Flow, urgent bool)
}

// A Queue is a workqueue that hands out the items of many flows in turn. After ShutDown it hands out none.
type Queue[T comparable] struct {
	workqueue.TypedInterface[T]

	mu    sync.Mutex // taken before the lock of the workqueue
	ready *sync.Cond // signalled when a flow may have become ready
	flows *flows[T]
}

var _ workqueue.TypedInterface[string] = &Queue[string]{}

// New returns an empty Queue.
func New[T comparable](o Options[T]) *Queue[T] {
	q := &Queue[T]{flows: &flows[T]{
		workers: o.Workers, flowOf: o.Flow, all: map[Flow]*flow[T]{}, held: map[string]int{}, busy: map[T]*flow[T]{},
	}}
	q.ready = sync.NewCond(&q.mu)
	q.TypedInterface = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{Name: o.Name, Queue: q.flows})
	return q
}

// NewDelaying returns a Queue to which items can be added later.
func NewDelaying[T comparable](o Options[T]) workqueue.TypedDelayingInterface[T] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{Name: o.Name, Queue: New(o)})
}

// ForController returns what makes the Queue of a controller with a number of workers, for its option NewQueue.
func ForController[T comparable](
	workers int, flow func(T) (flow Flow, urgent bool),
) func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, limiter workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
			Name:          name,
			DelayingQueue: NewDelaying(Options[T]{Name: name, Workers: workers, Flow: flow}),
		})
	}
}

// Add has an item handed out, after those of its flow that are as urgent. One that waits keeps its place unless it has
// become urgent, and one that is under way comes again when it is done.
func (q *Queue[T]) Add(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.TypedInterface.Add(item)
	q.ready.Signal()
}

// Get waits for the next item of a flow that may have another worker. Done must be called.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.ShuttingDown() && q.flows.Len() == 0 {
		q.ready.Wait()
	}
	if q.ShuttingDown() {
		return item, true
	}
	item, shutdown = q.TypedInterface.Get()
	if q.flows.Len() > 0 {
		q.ready.Signal() // One call of Done may make several flows ready.
	}
	return item, shutdown
}

// Done says that an item is no longer under way.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flows.done(item)
	q.TypedInterface.Done(item)
	q.ready.Signal()
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.flows.waiting
}

// ShutDown ends the queue.
func (q *Queue[T]) ShutDown() {
	q.TypedInterface.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready.Broadcast()
}

// A Flow is where items wait for each other.
type Flow struct {
	// Tenant has the flow. What its flows hold together counts for each of them.
	Tenant string
	// Name is unique in the tenant.
	Name string
}

// flows hold the items that wait, and count those under way. The lock of the Queue guards them.
type flows[T comparable] struct {
	workers int
	flowOf  func(T) (flow Flow, urgent bool)

	all     map[Flow]*flow[T] // those with an item that waits or is under way
	turns   []*flow[T]        // those with an item that waits, the next first
	held    map[string]int    // items under way, by tenant, none of them zero
	busy    map[T]*flow[T]    // items under way
	waiting int
}

var _ workqueue.Queue[string] = &flows[string]{}

type flow[T comparable] struct {
	Flow

	urgent, others []T
	turn           bool // the next is one of the others, if both wait
	held           int
}

// waiting returns how many items wait.
func (l *flow[T]) waiting() int { return len(l.urgent) + len(l.others) }

// pop takes the first item of those whose turn it is.
func (l *flow[T]) pop() (item T) {
	from := &l.urgent
	if len(l.urgent) == 0 || l.turn && len(l.others) > 0 {
		from = &l.others
	}
	l.turn = from == &l.urgent
	item, *from = (*from)[0], (*from)[1:]
	return item
}

// Touch is called for an item that waits and is added again. It keeps its place, unless it has become urgent.
func (s *flows[T]) Touch(item T) {
	id, urgent := s.flowOf(item)
	l := s.all[id]
	if !urgent || l == nil {
		return
	}
	if i := slices.Index(l.others, item); i >= 0 {
		l.others = slices.Delete(l.others, i, i+1)
		l.urgent = append(l.urgent, item)
	}
}

// Push adds an item to its flow.
func (s *flows[T]) Push(item T) {
	id, urgent := s.flowOf(item)
	l := s.all[id]
	if l == nil {
		l = &flow[T]{Flow: id}
		s.all[id] = l
	}
	if l.waiting() == 0 {
		s.turns = append(s.turns, l)
	}
	if urgent {
		l.urgent = append(l.urgent, item)
	} else {
		l.others = append(l.others, item)
	}
	s.waiting++
}

// Len returns 0 if Pop has nothing to return now.
func (s *flows[T]) Len() int {
	if !slices.ContainsFunc(s.turns, s.admits) {
		return 0
	}
	return s.waiting
}

// admits reports whether a flow may have another worker.
func (s *flows[T]) admits(l *flow[T]) bool {
	return l.held+s.held[l.Tenant] < s.workers-len(s.busy)
}

// Pop takes the next item of the flow whose turn it is, which gets the last turn.
func (s *flows[T]) Pop() T {
	i := slices.IndexFunc(s.turns, s.admits)
	l := s.turns[i]
	s.turns = slices.Delete(s.turns, i, i+1)
	item := l.pop()
	if l.waiting() > 0 {
		s.turns = append(s.turns, l)
	}
	s.waiting--
	s.busy[item] = l
	l.held++
	s.held[l.Tenant]++
	return item
}

// done gives the worker of an item back to all.
func (s *flows[T]) done(item T) {
	l := s.busy[item]
	if l == nil {
		return
	}
	delete(s.busy, item)
	if s.held[l.Tenant]--; s.held[l.Tenant] == 0 {
		delete(s.held, l.Tenant)
	}
	if l.held--; l.held+l.waiting() == 0 {
		delete(s.all, l.Flow)
	}
}
