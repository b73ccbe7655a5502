package fairqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

// flowOf returns the flow of an item such as "tenant/flow/item".
func flowOf(item string) Flow {
	parts := strings.Split(item, "/")
	return Flow{Tenant: parts[0], Name: parts[1]}
}

// placeOf returns the flow of an item, and whether it is urgent, as "tenant/flow/item!" is.
func placeOf(item string) (flow Flow, urgent bool) { return flowOf(item), strings.HasSuffix(item, "!") }

func newTestQueue(workers int) *Queue[string] {
	return New(Options[string]{Workers: workers, Flow: placeOf})
}

// takeAll takes what is handed out now.
func takeAll(q *Queue[string]) []string {
	var all []string
	for q.flows.Len() > 0 {
		item, _ := q.Get()
		all = append(all, item)
	}
	return all
}

// many returns the first items of flows, one flow after the other.
func many(n int, flows ...string) []string {
	var all []string
	for _, l := range flows {
		for i := range n {
			all = append(all, fmt.Sprintf("%s/%d", l, i))
		}
	}
	return all
}

// counts returns how many of the items each flow has.
func counts(items []string) map[string]int {
	n := map[string]int{}
	for _, item := range items {
		l := flowOf(item)
		n[l.Tenant+"/"+l.Name]++
	}
	return n
}

// TestShares shows how many workers flows hold that never give one back, and that others get some nevertheless.
func TestShares(t *testing.T) {
	const workers, each = 300, 1000
	all := func(tenants, flows int) []string {
		var names []string
		for i := range tenants {
			for n := range flows {
				names = append(names, fmt.Sprintf("t%d/l%d", i, n))
			}
		}
		return names
	}
	for name, tc := range map[string]struct {
		reason         string
		tenants, flows int
		want           map[string]int // by flow; nil for no look
		of             string         // a flow that comes later
		wantThen       int
	}{
		"One": {
			"One flow gets a third of the workers. A second flow gets a third of the rest.", 1, 1,
			map[string]int{"t0/l0": 100},
			"other/l", 67,
		},
		"SixTenants": {
			"Six tenants leave a quarter of the workers. A seventh tenant gets a third of that.", 6, 1,
			map[string]int{"t0/l0": 38, "t1/l0": 38, "t2/l0": 38, "t3/l0": 38, "t4/l0": 37, "t5/l0": 37},
			"other/l", 25,
		},
		"FiveFlows":   {"One tenant with many targets leaves half to others, some to its own.", 1, 5, nil, "t0/other", 4},
		"ManyTenants": {"Fifty tenants leave something.", 50, 1, nil, "other/l", 3},
		"ManyFlows":   {"A hundred targets of one tenant leave half to others.", 1, 100, nil, "other/l", 50},
	} {
		t.Run(name, func(t *testing.T) {
			q := newTestQueue(workers)
			for _, item := range many(each, all(tc.tenants, tc.flows)...) {
				q.Add(item)
			}
			held := counts(takeAll(q))
			if diff := cmp.Diff(tc.want, held); tc.want != nil && diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			for _, item := range many(each, tc.of) {
				q.Add(item)
			}
			if got := counts(takeAll(q))[tc.of]; got < tc.wantThen {
				t.Errorf("%s Want at least %d for who comes later, got %d", tc.reason, tc.wantThen, got)
			}
		})
	}
}

// TestChangedFlow shows that a worker goes back to the flow that it was taken for, although the item belongs to another
// one meanwhile.
func TestChangedFlow(t *testing.T) {
	flow := Flow{Name: "before"}
	q := New(Options[string]{Workers: 9, Flow: func(string) (Flow, bool) { return flow, false }})
	q.Add("a")
	item, _ := q.Get()
	flow.Name = "after"
	q.Add("a")
	q.Done(item)
	if _, left := q.flows.all[Flow{Name: "before"}]; left {
		t.Error("the flow is left")
	}
	item, _ = q.Get()
	q.Done(item)
	wantEmpty(t, q)
}

// wantEmpty checks that nothing is left of what was handed out.
func wantEmpty(t *testing.T, q *Queue[string]) {
	t.Helper()
	s := q.flows
	if n := len(s.all) + len(s.turns) + len(s.held) + len(s.busy) + s.waiting; n > 0 {
		t.Errorf("want nothing left, got %+v", s)
	}
}

// A model is what a Queue is to do, in the simplest words.
type model struct {
	workers int
	waiting []string // all, in the order in which they were added
	busy    []string
	again   map[string]bool // those under way that come again
}

func (m *model) add(item string) {
	switch {
	case slices.Contains(m.busy, item):
		m.again[item] = true
	case !slices.Contains(m.waiting, item):
		m.waiting = append(m.waiting, item)
	}
}

func (m *model) done(item string) {
	m.busy = slices.DeleteFunc(m.busy, func(other string) bool { return other == item })
	if m.again[item] {
		delete(m.again, item)
		m.add(item)
	}
}

// next returns which items may be handed out: the first of each flow that may have a worker.
func (m *model) next() []string {
	var all []string
	seen := map[Flow]bool{}
	for _, item := range m.waiting {
		l := flowOf(item)
		if seen[l] {
			continue
		}
		seen[l] = true
		held := 0
		for _, b := range m.busy {
			if flowOf(b) == l {
				held++
			}
			if flowOf(b).Tenant == l.Tenant {
				held++
			}
		}
		if held < m.workers-len(m.busy) {
			all = append(all, item)
		}
	}
	return all
}

// TestModel compares a Queue with a model, for random operations: nothing is handed out twice at a time or out of its
// order, no flow waits that may have a worker, and none is passed over for long.
func TestModel(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		workers := 1 + r.IntN(12)
		q, m := newTestQueue(workers), &model{workers: workers, again: map[string]bool{}}
		passedOver := map[Flow]int{}
		for range 300 {
			switch n := r.IntN(4); {
			case n == 0 && len(m.busy) > 0:
				item := m.busy[r.IntN(len(m.busy))]
				q.Done(item)
				m.done(item)
			case n == 1 && len(m.next()) > 0:
				take(t, q, m, passedOver)
			case n > 1:
				item := fmt.Sprintf("%d/%d/%d", r.IntN(3), r.IntN(2), r.IntN(4))
				q.Add(item)
				m.add(item)
			}
			if got := q.Len(); got != len(m.waiting) {
				t.Fatalf("seed %d: want %d that wait, got %d", seed, len(m.waiting), got)
			}
			if got := q.flows.Len() > 0; got != (len(m.next()) > 0) {
				t.Fatalf("seed %d: want one handed out: %t, got %t", seed, !got, got)
			}
		}
		for len(m.waiting)+len(m.busy) > 0 {
			if len(m.next()) > 0 {
				take(t, q, m, passedOver)
				continue
			}
			q.Done(m.busy[0])
			m.done(m.busy[0])
		}
		wantEmpty(t, q)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// take takes an item and checks that it is the turn of its flow. passedOver counts how often others came before a flow
// that could have a worker.
func take(t *testing.T, q *Queue[string], m *model, passedOver map[Flow]int) {
	t.Helper()
	const flows = 6
	ready := m.next()
	item, _ := q.Get()
	if !slices.Contains(ready, item) {
		t.Fatalf("want one of %v, got %s", ready, item)
	}
	for _, other := range ready {
		l := flowOf(other)
		if passedOver[l]++; other == item {
			passedOver[l] = 0
		}
		if passedOver[l] > flows {
			t.Fatalf("%s was passed over %d times", other, passedOver[l])
		}
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(other string) bool { return other == item })
	m.busy = append(m.busy, item)
}

// TestWorkers shows that workers which wait are woken for all that may be handed out, and told of the end.
func TestWorkers(t *testing.T) {
	const workers, items = 30, 500
	q := newTestQueue(workers)
	handled, ended := make(chan string), make(chan struct{})
	for range workers {
		go func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					ended <- struct{}{}
					return
				}
				handled <- item
				q.Done(item)
			}
		}()
	}
	for i := range items {
		q.Add(fmt.Sprintf("%d/%d/%d", i%7, i%3, i))
	}
	seen := map[string]bool{}
	for range items {
		seen[<-handled] = true
	}
	if len(seen) != items {
		t.Errorf("want each of %d items once, got %d", items, len(seen))
	}
	q.ShutDown()
	for range workers {
		<-ended
	}
	q.Add("late/x/1")
	if q.Len() != 0 {
		t.Error("something is added after the end")
	}
	wantEmpty(t, q)
}

// TestForController shows that a controller's queue delays, limits and hands out by flows.
func TestForController(t *testing.T) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second)
	q := ForController(9, placeOf)("fairqueue-test", limiter)
	defer q.ShutDown()
	q.AddRateLimited("a/x/1")
	q.AddAfter("b/x/1", time.Millisecond)
	got := map[string]bool{}
	for range 2 {
		item, _ := q.Get()
		got[item] = true
		q.Done(item)
	}
	if !got["a/x/1"] || !got["b/x/1"] || q.NumRequeues("a/x/1") != 1 {
		t.Errorf("got %v", got)
	}
}

// TestTurns shows that flows take turns, and that the items of each keep their order.
func TestTurns(t *testing.T) {
	for name, tc := range map[string]struct{ reason, added, want string }{
		"One":         {"The items of a flow keep their order.", "a/x/1 a/x/2 a/x/3", "a/x/1 a/x/2 a/x/3"},
		"Busy":        {"The one item of another comes second.", "a/x/1 a/x/2 a/x/3 b/x/1", "a/x/1 b/x/1 a/x/2 a/x/3"},
		"OfOneTenant": {"Flows of one tenant take turns, too.", "a/x/1 a/x/2 a/y/1", "a/x/1 a/y/1 a/x/2"},
		"Several":     {"Each has its turn.", "a/x/1 b/x/1 b/x/2 a/x/2 c/x/1", "a/x/1 b/x/1 c/x/1 a/x/2 b/x/2"},
		"Twice":       {"What waits keeps its place, and does not come twice.", "a/x/1 a/x/2 a/x/1", "a/x/1 a/x/2"},
		"Urgent": {
			"In a flow those that somebody waits for and the others take turns, as long as there are both.",
			"a/x/1 a/x/2 a/x/3 a/x/4 a/x/5! a/x/6!", "a/x/5! a/x/1 a/x/6! a/x/2 a/x/3 a/x/4",
		},
		"UrgentOfOneFlow": {
			"They have no more turns than their flow has.", "a/x/1 a/x/2! a/x/3! b/x/1 b/x/2",
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
	q := New(Options[string]{Workers: 100, Flow: func(item string) (Flow, bool) { return Flow{}, item == changed }})
	for _, item := range []string{"a", "b", "c", "d"} {
		q.Add(item)
	}
	changed = "d"
	q.Add("d")
	if diff := cmp.Diff([]string{"d", "a", "b", "c"}, takeAll(q)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
