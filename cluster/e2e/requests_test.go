package e2e_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// quiet is for how long the provider must ask nothing to count as settled. It is longer than anything it gathers or
// delays.
const quiet = 3 * time.Second

// marks are points in the order of the requests to both servers.
type marks struct{ local, target kube.Mark }

func mark(t *testing.T) marks {
	t.Helper()
	return marks{local: local.Audit(t).Mark(), target: target.Audit(t).Mark()}
}

// onLocal returns the provider's requests to the control plane since a mark, beside watches and leases.
func (m marks) onLocal(t *testing.T) kube.Requests {
	t.Helper()
	return local.Audit(t).Since(m.local).By(user)
}

// onTarget returns the provider's requests to the target since a mark, beside watches and leases.
func (m marks) onTarget(t *testing.T) kube.Requests {
	t.Helper()
	return target.Audit(t).Since(m.target).By(user)
}

// awaitSilence waits until the provider asks nothing any more.
func awaitSilence(t *testing.T) {
	t.Helper()
	m, since := mark(t), time.Now()
	kube.Eventually(t, "the provider to be silent", func() (bool, string) {
		asked := append(m.onLocal(t), m.onTarget(t)...)
		if len(asked) > 0 {
			m, since = mark(t), time.Now()
		}
		return time.Since(since) > quiet, asked.String()
	})
}

// checkMadeOnce checks that no resource of the target was created twice since a mark.
func (m marks) checkMadeOnce(t *testing.T) {
	t.Helper()
	made := perName(m.onTarget(t).That(func(e audit.AuditEvent) bool { return e.Code == http.StatusCreated }))
	if most := values(made); len(most) > 0 && slices.Max(most) > 1 {
		t.Errorf("creations of each resource: want at most 1, got %v", made)
	}
}

// perName counts requests by the name of the resource they are about.
func perName(r kube.Requests) map[string]int {
	n := map[string]int{}
	for _, e := range r {
		n[e.Name]++
	}
	return n
}

// values returns the different values of a map, sorted.
func values(m map[string]int) []int {
	return slices.Compact(slices.Sorted(maps.Values(m)))
}

// aboutSecrets returns the provider's requests to the control plane about Secrets since a mark, watches included: the
// first answer of a watch is the list.
func (m marks) aboutSecrets(t *testing.T) kube.Requests {
	t.Helper()
	all := append(m.onLocal(t), local.Audit(t).Watches(m.local).By(user)...)
	return all.That(func(e audit.AuditEvent) bool { return e.Resource == "secrets" })
}
