package fairqueue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTurns shows that lanes take turns, and that the items of each keep their order.
func TestTurns(t *testing.T) {
	for name, tc := range map[string]struct{ reason, added, want string }{
		"One":         {"The items of a lane keep their order.", "a/x/1 a/x/2 a/x/3", "a/x/1 a/x/2 a/x/3"},
		"Busy":        {"The one item of another comes second.", "a/x/1 a/x/2 a/x/3 b/x/1", "a/x/1 b/x/1 a/x/2 a/x/3"},
		"OfOneTenant": {"Lanes of one tenant take turns, too.", "a/x/1 a/x/2 a/y/1", "a/x/1 a/y/1 a/x/2"},
		"Several":     {"Each has its turn.", "a/x/1 b/x/1 b/x/2 a/x/2 c/x/1", "a/x/1 b/x/1 c/x/1 a/x/2 b/x/2"},
		"Twice":       {"What waits keeps its place, and does not come twice.", "a/x/1 a/x/2 a/x/1", "a/x/1 a/x/2"},
		"Urgent": {
			"In a lane those that somebody waits for and the others take turns, as long as there are both.",
			"a/x/1 a/x/2 a/x/3 a/x/4 a/x/5! a/x/6!", "a/x/5! a/x/1 a/x/6! a/x/2 a/x/3 a/x/4",
		},
		"UrgentOfOneLane": {
			"They have no more turns than their lane has.", "a/x/1 a/x/2! a/x/3! b/x/1 b/x/2",
			"a/x/2! b/x/1 a/x/1 b/x/2 a/x/3!",
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
