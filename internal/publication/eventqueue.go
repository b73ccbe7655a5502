package publication

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// eventsMost is how many events wait for one workspace at most. Each takes about 500 bytes.
const eventsMost = 4000

// An eventKey tells events apart. Events with one key are counted.
type eventKey struct {
	objectsync.Event

	about corev1.ObjectReference // without a resource version
}

// A queuedEvent is an event that waits to be written.
type queuedEvent struct {
	eventKey

	item        objectsync.Primary
	version     string // resource version of what it is about
	count       int32  // how often it has happened
	first, last time.Time
	due         time.Time // It is not written before.
}

func (e *queuedEvent) warns() bool { return e.Type == corev1.EventTypeWarning }

// An eventQueue holds the events that wait for one workspace, up to a limit. It hands out Warnings before Normal
// events, each in the order in which they have come, and counts events that repeat one that waits.
type eventQueue struct {
	most    int
	waiting map[eventKey]*queuedEvent
	order   []*queuedEvent

	slow          bool      // An event was not answered.
	rests         bool      // It was the last one, a moment ago.
	unservedSince time.Time // since when it answers that it serves no events; zero if its last answer was another
}

func newEventQueue(most int) *eventQueue {
	return &eventQueue{most: most, waiting: map[eventKey]*queuedEvent{}}
}

// add adds an event, and returns the one that there is no room for, nil if there is for all. A Warning takes the place
// of the last Normal event. Other events are dropped if the queue is full.
func (q *eventQueue) add(e *queuedEvent) (dropped *queuedEvent) {
	if was := q.waiting[e.eventKey]; was != nil {
		was.count += e.count
		was.last = e.last
		return nil
	}
	if len(q.order) >= q.most {
		for _, other := range q.order {
			if e.warns() && !other.warns() {
				dropped = other
			}
		}
		if dropped == nil {
			return e
		}
		q.remove(dropped)
	}
	q.insert(len(q.order), e)
	return dropped
}

func (q *eventQueue) insert(at int, e *queuedEvent) {
	q.waiting[e.eventKey] = e
	q.order = slices.Insert(q.order, at, e)
}

func (q *eventQueue) remove(e *queuedEvent) {
	delete(q.waiting, e.eventKey)
	at := slices.Index(q.order, e)
	q.order = slices.Delete(q.order, at, at+1)
}

// next takes the event whose turn it is. Without one that is due it returns nil, and how long it takes until one is;
// zero if none waits.
func (q *eventQueue) next(now time.Time) (next *queuedEvent, wait time.Duration) {
	for _, e := range q.order {
		left := e.due.Sub(now)
		switch {
		case left <= 0 && (next == nil || e.warns() && !next.warns()):
			next = e
		case left > 0 && (wait == 0 || left < wait):
			wait = left
		}
		if next != nil && next.warns() {
			break
		}
	}
	if next == nil {
		return nil, wait
	}
	q.remove(next)
	return next, 0
}

// giveBack puts an event that could not be written before all others of its type. It may exceed the limit by that one.
func (q *eventQueue) giveBack(e *queuedEvent) {
	if was := q.waiting[e.eventKey]; was != nil {
		was.count += e.count
		was.first = e.first
		return
	}
	q.insert(0, e)
}

// oldest returns how old events may be that are kept after an error.
func (q *eventQueue) oldest(err error, now time.Time) time.Time {
	switch {
	case !target.IsUnserved(err):
		q.unservedSince = time.Time{}
	case q.unservedSince.IsZero():
		q.unservedSince = now
	case now.Sub(q.unservedSince) >= unservedMax:
		return now
	}
	return now.Add(-eventAgeMax)
}

// expire takes all events that first happened before some time, and returns them.
func (q *eventQueue) expire(before time.Time) (expired []*queuedEvent) {
	q.order = slices.DeleteFunc(q.order, func(e *queuedEvent) bool {
		old := e.first.Before(before)
		if old {
			expired = append(expired, e)
			delete(q.waiting, e.eventKey)
		}
		return old
	})
	return expired
}
