package publication

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestOnlyOfBound shows that objects are synced of workspaces alone whose bindings are shown, whatever the endpoint
// shows of others: once they are shown, at once, and not while nobody tells of bindings.
func TestOnlyOfBound(t *testing.T) {
	s := &server{objects: []any{webIn("bound", "1"), webIn("late", "1")}}
	s.refuses.Store(true)
	p, consumers := newThings(t, s, "bound")
	run(t, p)
	tried := func(want int64) (bool, string) {
		got := p.status().Failed // All writes are.
		return got == want, strconv.FormatInt(got, 10)
	}
	again := func() { retry(t, p, web("late")) }
	kube.Eventually(t, "a try of the one", func() (bool, string) { return tried(1) })
	kube.Holds(t, "one is tried", func() (bool, string) { return tried(1) }, again)

	consumers.Workspaces = boundTo(consumers.Endpoints[0].URL, []string{"bound", "late"})
	p.adapt(consumers)
	kube.Eventually(t, "a try of the other", func() (bool, string) { return tried(2) })

	unknown := Consumers{Endpoints: []Endpoint{consumers.Endpoints[0]}}
	unknown.Endpoints[0].Listed = false
	p.adapt(unknown)
	kube.Holds(t, "both stay what they were", func() (bool, string) { return tried(2) }, again)
}

// TestMoved shows that a workspace which another endpoint shows is told of, and no other, so that its objects are
// synced there.
func TestMoved(t *testing.T) {
	x := &workspaceIndex{known: map[string]*workspace{}}
	x.follow(Consumers{Workspaces: boundTo("one", []string{"moves", "stays"})})
	_, changed, allowed := x.follow(Consumers{Workspaces: map[string]Workspace{
		"moves": {Endpoint: "two", Bound: true}, "stays": {Endpoint: "one", Bound: true},
	}})
	if diff := cmp.Diff(set[string]{"moves": {}}, allowed); diff != "" || !changed {
		t.Errorf("changed %v; allowed: -want, +got:\n%s", changed, diff)
	}
}

// sizes returns how much a publication knows of workspaces and objects.
func sizes(p *publication) map[string]int {
	out := map[string]int{}
	w := p.worker
	w.workspaces.mu.Lock()
	out["workspaces"] = len(w.workspaces.known)
	w.workspaces.mu.Unlock()
	w.streams.mu.Lock()
	out["streams"] = len(w.streams.related)
	w.streams.mu.Unlock()
	w.objects.each(func(_ objectsync.Primary, o *object) {
		out["objects"]++
		if o.failure != "" {
			out["failures"]++
		}
	})
	w.needs.mu.Lock()
	out["needs"], out["needed"] = len(w.needs.needs), len(w.needs.needed)
	out["namespaces"] = len(w.needs.namespaces)
	w.needs.mu.Unlock()
	w.config.shared.mu.Lock()
	out["holders"], out["held"] = len(w.config.shared.all), len(w.config.shared.of)
	w.config.shared.mu.Unlock()
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	return out
}

// TestChurnShrinks shows that nothing is kept of workspaces and objects that are gone: not of those either that could
// not be synced.
func TestChurnShrinks(t *testing.T) {
	const rounds, many = 5, 40
	s := &server{events: make(chan any)}
	s.refuses.Store(true)
	p, consumers := newThings(t, s, "stays")
	run(t, p)
	before := map[string]int{"workspaces": 1, "streams": 1} // of the workspace that stays
	for round := range rounds {
		var workspaces []string
		for i := range many {
			workspaces = append(workspaces, fmt.Sprintf("c%d-%d", round, i))
		}
		bound := boundTo(consumers.Endpoints[0].URL, append(workspaces, "stays"))
		p.adapt(Consumers{Endpoints: consumers.Endpoints, Workspaces: bound})
		for i, cluster := range workspaces {
			s.events <- webIn(cluster, strconv.Itoa(2+2*(round*many+i)))
		}
		kube.Eventually(t, "all to be refused", func() (bool, string) {
			now := sizes(p)
			return now["failures"] == many && now["workspaces"] == many+1, fmt.Sprint(now)
		})
		p.adapt(consumers)
		for i, cluster := range workspaces {
			s.events <- departed{webIn(cluster, strconv.Itoa(3+2*(round*many+i)))}
		}
		kube.Eventually(t, "all to be forgotten", func() (bool, string) {
			diff := cmp.Diff(before, sizes(p))
			return diff == "", diff
		})
	}
}
