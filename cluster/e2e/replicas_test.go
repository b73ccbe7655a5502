package e2e_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

func TestOnlyOneOfTwoReplicasWorks(t *testing.T) {
	c, _ := clients(t)
	t.Cleanup(func() {
		// A lease whose holder was killed would keep the next run of this test waiting for a minute.
		if err := c.DeleteAllOf(context.WithoutCancel(t.Context()), &coordinationv1.Lease{},
			client.InNamespace("default")); err != nil {
			t.Error(err)
		}
	})
	replica := func(user string) *provider.Process {
		return program.Start(t, local.User(t, user, admins), provider.Options{Args: []string{"--leader-election"}})
	}
	f := newFleet(t, c, 2)
	first, second := fleet{objects: f.objects[:1]}, fleet{objects: f.objects[1:]}
	m := mark(t)
	written := func(user string) map[string]int {
		got := writes(local.Audit(t).Since(m.local).By(user)).Count()
		delete(got, "create events") // Of who leads.
		return got
	}

	leader := replica("replica-1")
	first.settle(t, c)
	follower := replica("replica-2")
	kube.Eventually(t, soon, "the second replica to be ready", func() (bool, string) {
		code, body := get(t, follower.Readyz())
		return code == http.StatusOK, body
	})
	awaitSilence(t)
	if got := written("replica-2"); len(got) > 0 {
		t.Errorf("writes by the replica that does not lead: want none, got %v", got)
	}

	if err := leader.Stop(); err != nil {
		t.Error(err)
	}
	before := written("replica-1")
	second.settle(t, c)
	if diff := cmp.Diff(before, written("replica-1")); diff != "" {
		t.Errorf("writes by the replica that has stopped: -want, +got:\n%s", diff)
	}
	if len(written("replica-2")) == 0 {
		t.Error("writes by the replica that has taken over: want some, got none")
	}
}
