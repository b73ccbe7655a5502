package managedadapter

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

// A simulation lets objects of one composite change, and asks for each as a controller does: when it changes, and when
// it was told to.
type simulation struct {
	coalescer *Coalescer
	clock     *testingclock.FakeClock
	start     time.Time
	at        time.Duration // since the start
	due       map[string]time.Duration
	passing   map[string]bool
	shown     map[string]uint64
	state     map[string]uint64
	writes    map[string][]time.Duration
}

func simulate() *simulation {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := testingclock.NewFakeClock(start)
	return &simulation{
		coalescer: newCoalescer(c), clock: c, start: start,
		due: map[string]time.Duration{}, passing: map[string]bool{}, shown: map[string]uint64{},
		state: map[string]uint64{}, writes: map[string][]time.Duration{},
	}
}

// until lets time pass, in steps of a tenth of a second.
func (s *simulation) until(t time.Duration) {
	for ; s.at <= t; s.at += 100 * time.Millisecond {
		for name, due := range s.due {
			if s.at >= due {
				ch := object(name)
				ch.Passing = s.passing[name]
				s.ask(ch)
			}
		}
	}
	s.at = t
}

// change changes an object at a time.
func (s *simulation) change(at time.Duration, ch Change) {
	s.until(at)
	s.state[ch.Name.Name]++
	s.passing[ch.Name.Name] = ch.Passing
	s.ask(ch)
}

func (s *simulation) ask(ch Change) {
	name := ch.Name.Name
	delete(s.due, name)
	s.clock.SetTime(s.start.Add(s.at))
	ch.Budget, ch.Content = "composite", s.state[name]
	if wait := s.coalescer.Wait(ch); wait > 0 {
		s.due[name] = s.at + wait
		return
	}
	s.shown[name] = s.state[name]
	s.writes[name] = append(s.writes[name], s.at)
}

func object(name string) Change { return Change{Name: types.NamespacedName{Name: name}} }

func urgent(name string) Change {
	ch := object(name)
	ch.Urgent = true
	return ch
}

// TestWritesAreCoalesced shows when the changes of one object are written.
func TestWritesAreCoalesced(t *testing.T) {
	const s = time.Second
	storm := func(from, to, period time.Duration) func(*simulation) {
		return func(sim *simulation) {
			for at := from; at < to; at += period {
				sim.change(at, object("one"))
			}
		}
	}
	for name, tc := range map[string]struct {
		reason string
		do     []func(*simulation)
		end    time.Duration
		want   []time.Duration
	}{
		"One": {
			reason: "One change is written after two seconds.",
			do:     []func(*simulation){storm(0, s, s)}, end: time.Hour, want: []time.Duration{2 * s},
		},
		"Few": {
			reason: "A few changes are written together, two seconds after the first.",
			do:     []func(*simulation){storm(0, 2*s, s/2)}, end: time.Hour, want: []time.Duration{2 * s},
		},
		"Storm": {
			reason: "What goes on for five minutes is written ever less often, " +
				"and the last state two seconds after the last change.",
			do: []func(*simulation){storm(0, 301*s+s/2, s/2)}, end: time.Hour,
			want: []time.Duration{
				2 * s, 6 * s, 14 * s, 30 * s, 60 * s, 90 * s, 120 * s, 150 * s, 180 * s, 210 * s, 240 * s, 270 * s, 300 * s,
				303 * s,
			},
		},
		"Calm": {
			reason: "After half a minute of calm a change waits as long as the first did.",
			do:     []func(*simulation){storm(0, 10*s, s/2), storm(60*s, 63*s, s/2)}, end: time.Hour,
			want: []time.Duration{2 * s, 6 * s, 11*s + s/2, 62 * s, 64*s + s/2},
		},
		"Urgent": {
			reason: "What is urgent is written at once, and with it what has waited.",
			do:     []func(*simulation){storm(0, s, s/2), func(sim *simulation) { sim.change(s, urgent("one")) }},
			end:    time.Hour,
			want:   []time.Duration{s},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim := simulate()
			for _, do := range tc.do {
				do(sim)
			}
			sim.until(tc.end)
			if diff := cmp.Diff(tc.want, sim.writes["one"]); diff != "" {
				t.Errorf("%s\nwrites: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(sim.state, sim.shown); diff != "" {
				t.Errorf("%s\nlast states: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCompositesKeepTheirBudget shows that Crossplane's circuit breaker stays closed: it takes two tokens of a hundred
// for each write, and gets one back each second.
func TestCompositesKeepTheirBudget(t *testing.T) {
	const count, period = 12, 3 * time.Second
	sim := simulate()
	for i := range count {
		sim.change(0, urgent(strconv.Itoa(i))) // They are made.
	}
	for at := time.Second; at < 10*time.Minute; at += period {
		for i := range count {
			sim.change(at, object(strconv.Itoa(i)))
		}
	}
	sim.until(time.Hour)
	var all []time.Duration
	for _, writes := range sim.writes {
		all = append(all, writes...)
	}
	slices.Sort(all)
	tokens, last := 100.0, time.Duration(0)
	for _, at := range all {
		tokens = min(100, tokens+(at-last).Seconds()) - 2
		last = at
		if tokens < 0 {
			t.Fatalf("The circuit breaker opens after %s, of writes at %s", at, all)
		}
	}
	if diff := cmp.Diff(sim.state, sim.shown); diff != "" {
		t.Errorf("last states: -want, +got:\n%s", diff)
	}
}

// TestReadinessComesFirst shows that objects which are made together leave the budget to what is urgent: that they
// become ready.
func TestReadinessComesFirst(t *testing.T) {
	const count = 30
	sim := simulate()
	want := map[string][]time.Duration{}
	for i := range count {
		name := strconv.Itoa(i)
		sim.change(0, urgent(name))
		ch := object(name)
		ch.Passing = true
		sim.change(0, ch)
		want[name] = []time.Duration{0, 5 * time.Second}
	}
	for i := range count {
		sim.until(5 * time.Second)
		sim.change(5*time.Second, urgent(strconv.Itoa(i)))
	}
	sim.until(time.Hour)
	if diff := cmp.Diff(want, sim.writes); diff != "" {
		t.Errorf("writes: -want, +got:\n%s", diff)
	}
}

// TestCoalescerForgets shows that nothing is kept of objects that are gone and of composites that are calm.
func TestCoalescerForgets(t *testing.T) {
	sim := simulate()
	for i := range 100 {
		sim.change(0, object(strconv.Itoa(i)))
	}
	sim.until(time.Hour)
	for i := range 100 {
		sim.coalescer.Forget(types.NamespacedName{Name: strconv.Itoa(i)})
	}
	sim.clock.SetTime(sim.start.Add(sim.at))
	sim.coalescer.Wait(Change{Name: types.NamespacedName{Name: "other"}, Budget: "other", Urgent: true})
	if n, m := len(sim.coalescer.objects), sim.coalescer.budgets.Len(); n != 1 || m != 1 {
		t.Errorf("want what is known of 1 object and 1 budget, got %d and %d", n, m)
	}
}
