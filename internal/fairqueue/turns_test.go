package fairqueue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTurns shows that lanes take turns, and that the items of each keep their order.
func TestTurns(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		added  string
		want   string
	}{
		"One": {
			reason: "The items of a lane come in the order in which they were added.",
			added:  "a/x/1 a/x/2 a/x/3",
			want:   "a/x/1 a/x/2 a/x/3",
		},
		"Busy": {
			reason: "The one item of another lane comes second.",
			added:  "a/x/1 a/x/2 a/x/3 b/x/1",
			want:   "a/x/1 b/x/1 a/x/2 a/x/3",
		},
		"OfOneTenant": {
			reason: "Lanes of one tenant take turns, too.",
			added:  "a/x/1 a/x/2 a/y/1",
			want:   "a/x/1 a/y/1 a/x/2",
		},
		"Urgent": {
			reason: "In a lane those that somebody waits for and the others take turns, as long as there are both.",
			added:  "a/x/1 a/x/2 a/x/3 a/x/4 a/x/5! a/x/6!",
			want:   "a/x/5! a/x/1 a/x/6! a/x/2 a/x/3 a/x/4",
		},
		"UrgentOfOneLane": {
			reason: "They have no more turns than their lane has.",
			added:  "a/x/1 a/x/2! a/x/3! b/x/1 b/x/2",
			want:   "a/x/2! b/x/1 a/x/1 b/x/2 a/x/3!",
		},
		"Several": {
			reason: "Each has its turn.",
			added:  "a/x/1 b/x/1 b/x/2 a/x/2 c/x/1",
			want:   "a/x/1 b/x/1 c/x/1 a/x/2 b/x/2",
		},
		"Twice": {
			reason: "What waits already keeps its place, and does not come twice.",
			added:  "a/x/1 a/x/2 a/x/1",
			want:   "a/x/1 a/x/2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(100)
			for item := range strings.SplitSeq(tc.added, " ") {
				q.Add(item)
			}
			if diff := cmp.Diff(tc.want, strings.Join(takeAll(q), " ")); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBecomesUrgent shows that what waits goes before those that nobody waits for once somebody waits for it.
func TestBecomesUrgent(t *testing.T) {
	var changed string
	q := New(Options[string]{Workers: 100, Lane: func(item string) (Lane, bool) { return Lane{}, item == changed }})
	for _, item := range []string{"a", "b", "c", "d"} {
		q.Add(item)
	}
	changed = "d"
	q.Add("d")
	if diff := cmp.Diff([]string{"d", "a", "b", "c"}, takeAll(q)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
