package publication

import (
	"context"
	"sync"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/reference"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"

	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// eventWriters is how many events of a PublishedResource are written at a time. Of each workspace it is one.
	eventWriters = 4
	// slowEventWriters is how many more are written at a time to workspaces that do not answer.
	slowEventWriters = 1
	// seriesMost is of how many events it is remembered that they have been written, to count repeats.
	seriesMost = 4096
	// repeatMost is how long it takes at most until the repeat of an event is written. It takes a second for each time
	// it has happened.
	repeatMost = 5 * time.Minute
	// eventAgeMax is for how long it is tried to write an event.
	eventAgeMax = 10 * time.Minute
	// unservedMax is for how long it is tried if a workspace answers that it serves no events. kcp says so of what it
	// serves while it starts, and for good of a workspace that is not bound any more.
	unservedMax = time.Minute
	// restFirst and restMost are how long no event is written to a workspace that has not answered.
	restFirst, restMost = time.Second, time.Minute
	// flushMax is how long it is waited for events to be written when a PublishedResource is not served any more.
	flushMax = 2 * time.Second
)

// An eventRecorder records events for consumers in their workspaces, beside the sync of objects. Each workspace has a
// queue of its own. A Warning that repeats the last one of its object is recorded once, unless it was dropped.
type eventRecorder struct {
	name   string          // of the PublishedResource
	ctx    context.Context //nolint:containedctx // Its own life, which its writers share.
	cancel context.CancelFunc
	series *lru.Cache // eventSeries by eventKey
	// turns are the logical clusters with events, by whether they are slow. Each is handed to one writer at a time, for
	// one event. Those that have left an event unanswered take turns by themselves: their webhooks decide how long a write
	// takes.
	turns   map[bool]workqueue.TypedRateLimitingInterface[string]
	writers sync.WaitGroup

	mu sync.Mutex
	// clientOf returns a client of a logical cluster. An error means that the workspace takes no events.
	clientOf func(cluster string) (dynamic.Interface, error)
	queues   map[string]*eventQueue // by logical cluster, none of them empty unless its last event is being written
	warned   map[objectsync.Primary]objectsync.Event
	last     time.Time // of the last event. No two have the same, as it is part of their names
	ending   bool      // Nothing is recorded any more, and repeats are due at once.
}

// An eventSeries is what has been written of an event that may repeat.
type eventSeries struct {
	name    string
	count   int32
	written time.Time
}

func newEventRecorder(name string, clientOf func(cluster string) (dynamic.Interface, error)) *eventRecorder {
	r := &eventRecorder{
		name: name, clientOf: clientOf, series: lru.New(seriesMost),
		turns:  map[bool]workqueue.TypedRateLimitingInterface[string]{},
		queues: map[string]*eventQueue{}, warned: map[objectsync.Primary]objectsync.Event{},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for slow, writers := range map[bool]int{false: eventWriters, true: slowEventWriters} {
		turns := workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](restFirst, restMost))
		r.turns[slow] = turns
		for range writers {
			r.writers.Go(func() { r.write(turns, slow) })
		}
	}
	startDrops(name)
	return r
}

// record records events about an object. It does not wait.
func (r *eventRecorder) record(p objectsync.Primary, u *unstructured.Unstructured, all []objectsync.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, warning := r.warned[p], objectsync.Event{}
	for _, e := range all {
		if e.Type != corev1.EventTypeWarning {
			r.add(p, u, e)
			continue
		}
		if was.Type == e.Type && was.Reason == e.Reason && managedadapter.SameText(was.Message, e.Message) {
			warning = was
			continue
		}
		warning = e
		r.warned[p] = e // It is taken back if there is no room.
		if !r.add(p, u, e) {
			warning = objectsync.Event{}
		}
	}
	if r.warned[p] = warning; warning == (objectsync.Event{}) {
		delete(r.warned, p)
	}
}

// add adds an event to the queue of its workspace, and reports whether there was room. The caller holds the lock.
func (r *eventRecorder) add(p objectsync.Primary, u *unstructured.Unstructured, e objectsync.Event) bool {
	about, err := reference.GetReference(clientgoscheme.Scheme, u)
	if err != nil || r.ending {
		return false
	}
	version := about.ResourceVersion
	about.ResourceVersion = ""
	now := time.Now()
	if !now.After(r.last) {
		now = r.last.Add(1)
	}
	r.last = now
	queued := &queuedEvent{eventKey: eventKey{e, *about}, item: p, version: version, count: 1, first: now, last: now}
	if s, ok := r.series.Get(queued.eventKey); ok {
		s, _ := s.(eventSeries)
		queued.due = s.written.Add(min(time.Duration(s.count)*time.Second, repeatMost))
	}
	q := r.queues[p.Cluster]
	if q == nil {
		q = newEventQueue(eventsMost)
		r.queues[p.Cluster] = q
	}
	dropped := q.add(queued)
	if dropped != nil {
		r.drop(dropped, dropQueueFull)
	}
	if !q.rests {
		r.turns[q.slow].Add(p.Cluster)
	}
	return dropped != queued
}

// drop counts an event that is not written. A Warning does not count as given then. The caller holds the lock.
func (r *eventRecorder) drop(e *queuedEvent, reason string) {
	droppedEvents.WithLabelValues(r.name, e.Type, reason).Add(float64(e.count))
	if e.warns() && r.warned[e.item] == e.Event {
		delete(r.warned, e.item)
	}
}

func (r *eventRecorder) forget(p objectsync.Primary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.warned, p)
}

// follow has the recorder use other clients.
func (r *eventRecorder) follow(clientOf func(cluster string) (dynamic.Interface, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clientOf = clientOf
}

// close ends the recorder as soon as it has written what waits, or after flushMax.
func (r *eventRecorder) close() {
	r.mu.Lock()
	r.ending = true
	for cluster, q := range r.queues {
		r.turns[q.slow].Add(cluster)
	}
	r.mu.Unlock()
	_ = wait.PollUntilContextTimeout(r.ctx, flushMax/100, flushMax, true, // What is not written by then is lost.
		func(context.Context) (bool, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.queues) == 0, nil
		})
	r.cancel()
	for _, turns := range r.turns {
		turns.ShutDown()
	}
	r.writers.Wait()
}

// errNoEvents means that a workspace has not accepted the permission claim for events, or has left with all it had.
var errNoEvents = errors.New("the workspace takes no events")

// eventsClient returns a client of a workspace that takes events.
func (p *publication) eventsClient(cluster string) (dynamic.Interface, error) {
	e := p.endpointOf(cluster)
	switch {
	case !p.knows(cluster) || p.hides(cluster, events.Resource):
		return nil, errNoEvents
	case e == nil:
		return nil, errors.Errorf("no endpoint shows logical cluster %q", cluster)
	}
	return e.cluster.In(cluster)
}
