package publication

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

func in(cluster, name string) objectsync.Primary {
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Name: name}}
}

// play adds objects, takes as many as are handed out, gives back those of a workspace, adds later ones, and takes
// again. It returns what was taken.
func play(t *fairQueue, added []objectsync.Primary, done string, later ...objectsync.Primary) (before, after string) {
	for _, p := range added {
		t.Add(p)
	}
	take := func() (taken []objectsync.Primary, names string) {
		var all []string
		for len(t.busy) < t.workers && t.next() < len(t.order) {
			p, _ := t.Get()
			taken = append(taken, p)
			all = append(all, p.Cluster+p.Name)
		}
		return taken, strings.Join(all, " ")
	}
	taken, before := take()
	for _, p := range taken {
		if p.Cluster == done {
			t.Done(p)
		}
	}
	for _, p := range later {
		t.Add(p)
	}
	_, after = take()
	return before, after
}

// TestTurns shows that a workspace with much to do delays others by one object, and that one whose objects take long
// leaves workers to others.
func TestTurns(t *testing.T) {
	many := func(cluster string) []objectsync.Primary {
		var all []objectsync.Primary
		for name := range strings.SplitSeq("1 2 3 4 5 6 7 8 9", " ") {
			all = append(all, in(cluster, name))
		}
		return all
	}
	cases := map[string]struct {
		reason        string
		added         []objectsync.Primary
		done          string
		later         []objectsync.Primary
		before, after string
	}{
		"One": {
			reason: "The objects of a workspace come in the order they were added.",
			added:  []objectsync.Primary{in("a", "1"), in("a", "2"), in("a", "3")},
			done:   "",
			later:  nil,
			before: "a1 a2 a3",
			after:  "",
		},
		"Busy": {
			reason: "The one object of another workspace comes second.",
			added:  []objectsync.Primary{in("a", "1"), in("a", "2"), in("a", "3"), in("b", "1")},
			done:   "",
			later:  nil,
			before: "a1 b1 a2 a3",
			after:  "",
		},
		"Several": {
			reason: "Each has its turn.",
			added:  []objectsync.Primary{in("a", "1"), in("b", "1"), in("b", "2"), in("a", "2"), in("c", "1")},
			done:   "",
			later:  nil,
			before: "a1 b1 c1 a2 b2",
			after:  "",
		},
		"Twice": {
			reason: "What waits already does not come twice.",
			added:  []objectsync.Primary{in("a", "1"), in("a", "2"), in("a", "1")},
			done:   "a",
			later:  nil,
			before: "a1 a2",
			after:  "",
		},
		"Full": {
			reason: "One workspace gets all workers but those that are kept, and goes on when one is done.",
			added:  many("a"),
			done:   "a",
			later:  nil,
			before: "a1 a2 a3 a4 a5 a6",
			after:  "a7 a8 a9",
		},
		"Kept": {
			reason: "Another workspace gets what is kept, though one that came before has more to do.",
			added:  many("a"),
			done:   "",
			later:  many("b"),
			before: "a1 a2 a3 a4 a5 a6",
			after:  "b1 b2",
		},
		"Less": {
			reason: "What is kept goes to who has little under way.",
			added:  append(many("a"), many("b")...),
			done:   "b",
			later:  nil,
			before: "a1 b1 a2 b2 a3 b3",
			after:  "a4 b4 a5 b5",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := play(newFairQueue(8), tc.added, tc.done, tc.later...)
			if diff := cmp.Diff(tc.before, before); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.after, after); diff != "" {
				t.Errorf("after those of %q are done: %s\n-want, +got:\n%s", tc.done, tc.reason, diff)
			}
		})
	}
}

// TestTurnsAgain shows that an object that changes while it is under way comes again when it is done, and not before.
func TestTurnsAgain(t *testing.T) {
	q := newFairQueue(8)
	p := in("a", "1")
	q.Add(p)
	if got, _ := q.Get(); got != p {
		t.Fatalf("want %v, got %v", p, got)
	}
	q.Add(p)
	if q.Len() != 0 {
		t.Errorf("it is handed out twice at a time")
	}
	q.Done(p)
	if got, _ := q.Get(); got != p {
		t.Errorf("want %v again, got %v", p, got)
	}
	q.Done(p)
	if len(q.dirty)+len(q.busy)+len(q.waiting)+len(q.order)+len(q.held) != 0 {
		t.Errorf("it keeps %+v", q)
	}
}

// TestTurnsWait shows that who waits for an object gets one that has to wait for another to be done, and learns of the
// end.
func TestTurnsWait(t *testing.T) {
	q := newFairQueue(4)
	for _, name := range []string{"1", "2", "3", "4"} {
		q.Add(in("a", name))
	}
	var first objectsync.Primary
	for range 3 {
		first, _ = q.Get()
	}
	got := make(chan objectsync.Primary)
	go func() {
		p, _ := q.Get()
		got <- p
	}()
	q.Done(first)
	if diff := cmp.Diff(in("a", "4"), <-got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	over := make(chan bool)
	go func() {
		_, shutdown := q.Get()
		over <- shutdown
	}()
	q.ShutDown()
	if !<-over {
		t.Errorf("want it to be told of the end")
	}
}
