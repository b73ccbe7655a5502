package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// deleteLeases deletes all Leases at the end of a test. One whose holder was killed would keep the next run waiting for
// a minute.
func deleteLeases(t *testing.T, c client.Client) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.DeleteAllOf(context.WithoutCancel(t.Context()), &coordinationv1.Lease{},
			client.InNamespace("default")); err != nil {
			t.Error(err)
		}
	})
}

// TestLeaseOfEachProvider shows that providers with Leases of their own lead side by side in one namespace, and that
// replicas of one of them still wait for each other.
func TestLeaseOfEachProvider(t *testing.T) {
	c, _ := clients(t)
	deleteLeases(t, c)
	lead := func(id string) *provider.Process { return start(t, "--leader-election", "--leader-election-id="+id) }
	status := func(p *provider.Process) string {
		_, body := get(t, p.Metrics())
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "leader_election_master_status") {
				return strings.TrimSpace(line)
			}
		}
		return body
	}
	await := func(p *provider.Process, want string) {
		t.Helper()
		kube.Eventually(t, want, func() (bool, string) { got := status(p); return got == want, got })
	}
	first := lead("team-a")
	await(first, `leader_election_master_status{name="team-a"} 1`)
	await(lead("team-b"), `leader_election_master_status{name="team-b"} 1`)
	waiting := lead("team-a")
	kube.Eventually(t, "the second replica to be ready", func() (bool, string) {
		code, body := get(t, waiting.Readyz())
		return code == http.StatusOK, body
	})
	await(waiting, `leader_election_master_status{name="team-a"} 0`)
	await(first, `leader_election_master_status{name="team-a"} 1`)
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	await(waiting, `leader_election_master_status{name="team-a"} 1`)
}
