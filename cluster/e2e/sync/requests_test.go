package sync_test

import (
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// quiet is for how long the provider must ask nothing to count as settled. It is longer than anything it gathers or
// delays.
const quiet = 3 * time.Second

// marks are points in the order of the requests to both servers.
type marks struct{ service, kcp kube.Mark }

func audit(t *testing.T) kube.Audit {
	t.Helper()
	return kube.AuditOf(t, workspaces.AuditLog())
}

func mark(t *testing.T) marks {
	t.Helper()
	return marks{service: service.Audit(t).Mark(), kcp: audit(t).Mark()}
}

// onService returns the provider's requests to the service cluster since a mark, beside watches and leases.
func (m marks) onService(t *testing.T) kube.Requests {
	t.Helper()
	return service.Audit(t).Since(m.service).By(user)
}

// inKCP returns the provider's requests to kcp since a mark, beside watches.
func (m marks) inKCP(t *testing.T) kube.Requests {
	t.Helper()
	return audit(t).Since(m.kcp).By(agentUser)
}

// awaitSilence waits until the provider asks nothing any more.
func awaitSilence(t *testing.T) {
	t.Helper()
	m, since := mark(t), time.Now()
	kube.Eventually(t, "the provider to be silent", func() (bool, string) {
		asked := append(m.onService(t), m.inKCP(t)...)
		if len(asked) > 0 {
			m, since = mark(t), time.Now()
		}
		return time.Since(since) > quiet, asked.String()
	})
}
