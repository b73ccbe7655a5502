package publication

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// queued returns an event of an object, a Warning if it is to be one.
func queued(object, kind string) *queuedEvent {
	return &queuedEvent{
		eventKey: eventKey{objectsync.Event{Type: kind, Reason: "Because"}, corev1.ObjectReference{Name: object}},
		item:     objectsync.Primary{Cluster: "c"}, count: 1,
	}
}

func normal(object string) *queuedEvent  { return queued(object, corev1.EventTypeNormal) }
func warning(object string) *queuedEvent { return queued(object, corev1.EventTypeWarning) }

// due returns an event that is due some time after the epoch.
func due(e *queuedEvent, after time.Duration) *queuedEvent {
	e.due = time.Unix(0, 0).Add(after)
	return e
}

// told is how an event is described: its object, "!" for a Warning, and how often it has happened.
func told(e *queuedEvent) string {
	mark := ""
	if e.warns() {
		mark = "!"
	}
	return fmt.Sprintf("%s%s %d", mark, e.about.Name, e.count)
}

func TestEventQueue(t *testing.T) {
	type want struct {
		written, dropped []string
		wait             time.Duration // after what is written
	}
	cases := map[string]struct {
		reason string
		most   int
		add    []*queuedEvent
		now    time.Duration // when events are taken, after the epoch
		want   want
	}{
		"InOrder": {
			reason: "Events come in the order in which they have happened.",
			most:   3, add: []*queuedEvent{normal("a"), normal("b"), normal("c")},
			want: want{written: []string{"a 1", "b 1", "c 1"}},
		},
		"Repeats": {
			reason: "What repeats is one event, which is counted and keeps its place, and takes no room.",
			most:   2, add: []*queuedEvent{normal("a"), normal("b"), normal("a"), normal("a")},
			want: want{written: []string{"a 3", "b 1"}},
		},
		"WarningsFirst": {
			reason: "Warnings come before Normal events that have waited longer.",
			most:   4, add: []*queuedEvent{normal("a"), warning("a"), normal("b"), warning("b")},
			want: want{written: []string{"!a 1", "!b 1", "a 1", "b 1"}},
		},
		"FullOfNormals": {
			reason: "There is no room for another Normal event.",
			most:   2, add: []*queuedEvent{normal("a"), normal("b"), normal("c")},
			want: want{written: []string{"a 1", "b 1"}, dropped: []string{"c 1"}},
		},
		"WarningTakesPlace": {
			reason: "A Warning takes the place of the last Normal event, with all that this one has counted.",
			most:   2, add: []*queuedEvent{normal("a"), normal("b"), normal("b"), warning("c")},
			want: want{written: []string{"!c 1", "a 1"}, dropped: []string{"b 2"}},
		},
		"FullOfWarnings": {
			reason: "A Warning takes the place of no other Warning.",
			most:   2, add: []*queuedEvent{warning("a"), warning("b"), warning("c"), normal("d")},
			want: want{written: []string{"!a 1", "!b 1"}, dropped: []string{"!c 1", "d 1"}},
		},
		"Later": {
			reason: "A repeat that is not due waits, and counts what comes meanwhile.",
			most:   4, add: []*queuedEvent{
				due(normal("a"), time.Minute), normal("b"), normal("a"), due(normal("c"), time.Second),
			},
			want: want{written: []string{"b 1"}, wait: time.Second},
		},
		"LaterIsDue": {
			reason: "A repeat comes when it is due.",
			most:   4, add: []*queuedEvent{due(normal("a"), time.Minute), due(warning("c"), time.Second)},
			now:  time.Minute,
			want: want{written: []string{"!c 1", "a 1"}},
		},
		"LaterTakesRoom": {
			reason: "What is not due counts as waiting.",
			most:   1, add: []*queuedEvent{due(normal("a"), time.Minute), normal("b")},
			want: want{dropped: []string{"b 1"}, wait: time.Minute},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q, got := newEventQueue(tc.most), want{}
			for _, e := range tc.add {
				if dropped := q.add(e); dropped != nil {
					got.dropped = append(got.dropped, told(dropped))
				}
			}
			for {
				e, wait := q.next(time.Unix(0, 0).Add(tc.now))
				if e == nil {
					got.wait = wait
					break
				}
				got.written = append(got.written, told(e))
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEventQueueGivesBack shows that an event that could not be written comes next again, and counts what has repeated
// it meanwhile.
func TestEventQueueGivesBack(t *testing.T) {
	cases := map[string]struct {
		reason    string
		meanwhile []*queuedEvent
		want      []string
	}{
		"Alone": {
			reason:    "It comes before what has waited behind it.",
			meanwhile: nil,
			want:      []string{"a 1", "b 1"},
		},
		"Repeated": {
			reason:    "It is one with its repeat.",
			meanwhile: []*queuedEvent{normal("a")},
			want:      []string{"b 1", "a 2"},
		},
		"Warning": {
			reason:    "A Warning that has come comes before it.",
			meanwhile: []*queuedEvent{warning("c")},
			want:      []string{"!c 1", "a 1", "b 1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			q, now := newEventQueue(10), time.Unix(0, 0)
			q.add(normal("a"))
			q.add(normal("b"))
			failed, _ := q.next(now)
			for _, e := range tc.meanwhile {
				q.add(e)
			}
			q.giveBack(failed)
			var got []string
			for e, _ := q.next(now); e != nil; e, _ = q.next(now) {
				got = append(got, told(e))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
