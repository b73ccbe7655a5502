package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

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

// that returns the requests of some verbs.
func that(r kube.Requests, verbs ...string) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if slices.Contains(verbs, e.Verb) {
			out = append(out, e)
		}
	}
	return out
}

// writes returns the requests that change something, dry runs included.
func writes(r kube.Requests) kube.Requests {
	return that(r, "create", "update", "patch", "delete", "deletecollection")
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
	return about(append(m.onLocal(t), local.Audit(t).Watches(m.local).By(user)...), "secrets")
}

// about returns the requests about a kind of resources.
func about(r kube.Requests, resource string) kube.Requests {
	var out kube.Requests
	for _, e := range r {
		if strings.HasSuffix(" "+e.Subject(), " "+resource) {
			out = append(out, e)
		}
	}
	return out
}
