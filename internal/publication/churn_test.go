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
		if o.refused.is {
			out["refusals"]++
		}
		if o.failure != "" {
			out["failures"]++
		}
	})
	w.needs.mu.Lock()
	out["needs"], out["needed"] = len(w.needs.needs), len(w.needs.needed)
	out["used"], out["used together"] = len(w.needs.used), len(w.needs.of)
	w.needs.mu.Unlock()
	w.config.shared.mu.Lock()
	out["holders"], out["held"] = len(w.config.shared.all), len(w.config.shared.of)
	w.config.shared.mu.Unlock()
	w.events.mu.Lock()
	out["event queues"] = len(w.events.queues)
	w.events.mu.Unlock()
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	return out
}

// TestChurnShrinks shows that nothing is kept of workspaces and objects that are gone: not of those either that could
// not be synced.
func TestChurnShrinks(t *testing.T) {
	const rounds, many = 5, 40
	s := &server{events: make(chan any), forbids: true}
	url, connect := s.start(t)
	p, consumers := newThings(t, url, connect, "stays")
	p.open()
	p.worker.await(p.ctx)
	p.running.Go(p.run)
	defer p.stop()
	before := map[string]int{"workspaces": 1, "streams": 1} // of the workspace that stays
	for round := range rounds {
		var workspaces []string
		for i := range many {
			workspaces = append(workspaces, fmt.Sprintf("c%d-%d", round, i))
		}
		bound := boundTo(url, append(workspaces, "stays"))
		for cluster, w := range bound {
			if cluster != "stays" {
				w.Path = "root:" + cluster
				bound[cluster] = w
			}
		}
		p.adapt(Consumers{Endpoints: consumers.Endpoints, Workspaces: bound})
		for i, cluster := range workspaces {
			s.events <- webIn(cluster, strconv.Itoa(2+2*(round*many+i)))
		}
		kube.Eventually(t, "all to be refused", func() (bool, string) {
			now := sizes(p)
			return now["failures"] == many && now["refusals"] == many && now["workspaces"] == many+1, fmt.Sprint(now)
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
