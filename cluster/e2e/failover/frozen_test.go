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

		frozen := freeze(t, leader)
		var since time.Time
		holder, since = s.awaitHolder(t, holder)
		kube.Eventually(t, soon, "writes of the new leader", func() (bool, string) {
			return len(writes(t, &target, mt, follower.user, since)) > stormRate/2, ""
		})
		thawed := thaw(t, leader)
		awaitExit(t, leader)
		gone := time.Since(thawed)
		storm.end()

		t.Logf("round %d: frozen for %s, ended %s after", n, thawed.Sub(frozen).Round(time.Millisecond), gone.Round(time.Millisecond))
		s.awaitSettled(t)
		checkNoWrites(t, leader, since, m, mt)
		leader = follower
	}
}

// TestFrozenAlone freezes the only replica for longer than its Lease. It ends, and its successor does not wait for the Lease.
func TestFrozenAlone(t *testing.T) {
	s := newStage(t)
	leader := s.start(t, nil)
	holder, _ := s.awaitHolder(t, "")
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	storm := s.newStorm(t)
	kube.Eventually(t, soon, "writes of the leader", func() (bool, string) {
		return len(writes(t, &target, mt, leader.user, time.Time{})) > stormRate, ""
	})
	frozen := freeze(t, leader)
	kube.Eventually(t, soon, "the Lease to run out", func() (bool, string) { return time.Since(frozen) > lease, "" })
	storm.end()
	thawed := thaw(t, leader)
	awaitExit(t, leader)
	if now, _ := s.holder(t); now == holder {
		t.Error("the Lease that has run out is not released")
	}
	s.start(t, nil)
	s.awaitSettled(t)
	checkNoWrites(t, leader, thawed, m, mt)
}

func freeze(t *testing.T, r *replica) time.Time {
	t.Helper()
	if err := r.Freeze(); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

func thaw(t *testing.T, r *replica) time.Time {
	t.Helper()
	if err := r.Thaw(); err != nil {
		t.Fatal(err)
	}
	return time.Now()
}
