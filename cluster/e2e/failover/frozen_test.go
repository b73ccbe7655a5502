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
		checkNoWrites(t, leader, since, m, mt)
		s.awaitSettled(t)
		leader = follower
	}
}

// TestFrozenAlone freezes the only replica for longer than its Lease. It goes on where it was, as nobody has taken over.
func TestFrozenAlone(t *testing.T) {
	s := newStage(t)
	r := s.start(t, nil)
	storm := s.newStorm(t)
	mt := target.Audit(t).Mark()
	kube.Eventually(t, soon, "writes of the leader", func() (bool, string) {
		return len(writes(t, &target, mt, r.user, time.Time{})) > stormRate, ""
	})
	frozen := freeze(t, r)
	kube.Eventually(t, soon, "the Lease to run out", func() (bool, string) { return time.Since(frozen) > lease, "" })
	storm.end()
	thaw(t, r)
	s.awaitSettled(t)
	select {
	case <-r.Exited():
		t.Error("a replica has ended although no other has led")
	default:
	}
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
