package e2e_test

import (
	"context"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
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
	lead := func(id string) *provider.Process {
		p := start(t, "--leader-election", "--leader-election-id="+id)
		program.AwaitReady(t, p)
		return p
	}
	await := func(p *provider.Process, id string, want float64) {
		t.Helper()
		kube.Eventually(t, fmt.Sprintf("master status %v of %s", want, id), func() (bool, string) {
			got, ok := program.Series(t, p)[`leader_election_master_status{name="`+id+`"}`]
			return ok && got == want, fmt.Sprint(got)
		})
	}
	first := lead("team-a")
	await(first, "team-a", 1)
	await(lead("team-b"), "team-b", 1)
	waiting := lead("team-a")
	await(waiting, "team-a", 0)
	await(first, "team-a", 1)
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	await(waiting, "team-a", 1)
}
