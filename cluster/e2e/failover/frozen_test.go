package failover_test

import (
	"cmp"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// rounds returns how often the leader is frozen.
func rounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("FENCE_ROUNDS"), "3"))
	if err != nil {
		t.Fatalf("FENCE_ROUNDS: %v", err)
	}
	return n
}

// TestFrozenLeaderWritesNothing freezes the leader in the middle of a storm, for longer than its Lease, and thaws it when another replica
// leads.
func TestFrozenLeaderWritesNothing(t *testing.T) {
	s := newStage(t)
	leader := s.start(t, nil)
	holder, _ := s.awaitHolder(t, "")
	for n := range rounds(t) {
		m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
		follower := s.start(t, nil)
		storm := s.newStorm(t)
		kube.Eventually(t, soon, "writes of the leader", func() (bool, string) {
			return len(writes(t, &target, mt, leader.user, time.Time{})) > stormRate, ""
		})

		frozen := time.Now()
		if err := leader.Freeze(); err != nil {
			t.Fatal(err)
		}
		var since time.Time
		holder, since = s.awaitHolder(t, holder)
		kube.Eventually(t, soon, "writes of the new leader", func() (bool, string) {
			return len(writes(t, &target, mt, follower.user, since)) > stormRate/2, ""
		})
		if err := leader.Thaw(); err != nil {
			t.Fatal(err)
		}
		thawed := time.Now()
		select {
		case <-leader.Exited():
		case <-time.After(soon):
			t.Fatal("a leader that has lost its Lease runs on")
		}
		gone := time.Since(thawed)
		storm.end()

		onLocal, onTarget := writes(t, &local, m, leader.user, since), writes(t, &target, mt, leader.user, since)
		t.Logf("round %d: frozen %s, ended %s after; writes after its Lease: %d to the control plane, %d to the target",
			n, thawed.Sub(frozen).Round(time.Millisecond), gone.Round(time.Millisecond), len(onLocal), len(onTarget))
		if len(onLocal)+len(onTarget) > 0 {
			t.Errorf("writes of a replica after another has led since %s:\ncontrol plane\n%starget\n%s", since, onLocal, onTarget)
		}
		s.awaitSettled(t)
		leader = follower
	}
}
