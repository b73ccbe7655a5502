package publication

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
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
	most     int
	waiting  map[eventKey]*queuedEvent
	warnings []*queuedEvent
	normals  []*queuedEvent
	later    []*queuedEvent // what is not due, in no order
}

func newEventQueue(most int) *eventQueue {
	return &eventQueue{most: most, waiting: map[eventKey]*queuedEvent{}}
}

// add adds an event, and returns the one that there is no room for, nil if there is for all. A Warning takes the place
// of the last Normal event. Other events are dropped if the queue is full.
func (q *eventQueue) add(e *queuedEvent, now time.Time) (dropped *queuedEvent) {
	if was := q.waiting[e.eventKey]; was != nil {
		was.count += e.count
		was.last = e.last
		return nil
	}
	if len(q.waiting) >= q.most {
		if !e.warns() || len(q.normals) == 0 {
			return e
		}
		last := len(q.normals) - 1
		dropped, q.normals = q.normals[last], q.normals[:last]
		delete(q.waiting, dropped.eventKey)
	}
	q.waiting[e.eventKey] = e
	if e.due.After(now) {
		q.later = append(q.later, e)
		return dropped
	}
	q.push(e)
	return dropped
}

func (q *eventQueue) push(e *queuedEvent) {
	if e.warns() {
		q.warnings = append(q.warnings, e)
		return
	}
	q.normals = append(q.normals, e)
}

// next takes the event whose turn it is. Without one that is due it returns nil, and how long it takes until one is;
// zero if none waits.
func (q *eventQueue) next(now time.Time) (e *queuedEvent, wait time.Duration) {
	q.later = slices.DeleteFunc(q.later, func(e *queuedEvent) bool {
		left := e.due.Sub(now)
		if left <= 0 {
			q.push(e)
			return true
		}
		if wait == 0 || left < wait {
			wait = left
		}
		return false
	})
	switch {
	case len(q.warnings) > 0:
		e, q.warnings = q.warnings[0], q.warnings[1:]
	case len(q.normals) > 0:
		e, q.normals = q.normals[0], q.normals[1:]
	default:
		return nil, wait
	}
	delete(q.waiting, e.eventKey)
	return e, 0
}

// giveBack puts an event that could not be written before all others of its type. It may exceed the limit by that one.
func (q *eventQueue) giveBack(e *queuedEvent) {
	if was := q.waiting[e.eventKey]; was != nil {
		was.count += e.count
		was.first = e.first
		return
	}
	q.waiting[e.eventKey] = e
	if e.warns() {
		q.warnings = slices.Insert(q.warnings, 0, e)
		return
	}
	q.normals = slices.Insert(q.normals, 0, e)
}

// expire takes all events that first happened before some time, and returns them.
func (q *eventQueue) expire(before time.Time) []*queuedEvent {
	var expired []*queuedEvent
	isOld := func(e *queuedEvent) bool {
		if !e.first.Before(before) {
			return false
		}
		expired = append(expired, e)
		delete(q.waiting, e.eventKey)
		return true
	}
	q.warnings = slices.DeleteFunc(q.warnings, isOld)
	q.normals = slices.DeleteFunc(q.normals, isOld)
	q.later = slices.DeleteFunc(q.later, isOld)
	return expired
}
