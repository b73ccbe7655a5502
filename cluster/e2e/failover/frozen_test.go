package failover_test

import (
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// begunMost is how many writes may be on their way to a connection when a replica is frozen.
const begunMost = 5

// rounds returns how often the leader is frozen.
func rounds(t *testing.T) int {
	t.Helper()
	return kube.Setting(t, "FENCE_ROUNDS", 3)
}

// TestFrozenLeaderWritesNothing freezes the leader in the middle of a storm, for longer than its Lease, and thaws it
// when another replica leads: it begins no write. A round does not count if the leader loses its Lease before, as it
// may on a machine that is too busy to renew it.
func TestFrozenLeaderWritesNothing(t *testing.T) {
	s := newStage(t, 1)
	leader := s.start(t)
	counted, wanted := 0, rounds(t)
	for n := 0; counted < wanted; n++ {
		if n == 2*wanted {
			t.Fatalf("rounds: want %d, got %d of %d", wanted, counted, n)
		}
		var frozen bool
		if leader, frozen = s.freezeOnce(t, leader); frozen {
			counted++
		}
	}
}

// freezeOnce is one round. It returns who leads then, and reports whether the leader was frozen.
func (s *stage) freezeOnce(t *testing.T, leader *replica) (*replica, bool) {
	t.Helper()
	follower := s.start(t)
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	endStorm := s.newStorm(t, stormRate)
	if !s.awaitWrites(t, leader, mt, time.Time{}, stormRate) {
		endStorm()
		return s.awaitSettled(t, follower), false
	}
	holder, _ := s.holder(t)
	freeze(t, leader)
	_, since := s.awaitHolder(t, holder)
	s.awaitWrites(t, follower, mt, since, stormRate/2)
	thaw(t, leader)
	program.AwaitEnd(t, leader.Process) // It has lost its Lease.
	endStorm()
	follower = s.awaitSettled(t, follower)
	checkNoWrites(t, leader, since, m, mt, begunMost)
	return follower, true
}

// TestFrozenAlone freezes the only replica for longer than its Lease. It ends, and its successor does not wait for the
// Lease.
func TestFrozenAlone(t *testing.T) {
	s := newStage(t, 1)
	leader := s.start(t)
	holder, _ := s.awaitHolder(t, "")
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	endStorm := s.newStorm(t, stormRate)
	s.awaitWrites(t, leader, mt, time.Time{}, stormRate)
	frozen := freeze(t, leader)
	kube.Eventually(t, "the Lease to run out", func() (bool, string) { return time.Since(frozen) > lease, "" })
	endStorm()
	thawed := thaw(t, leader)
	program.AwaitEnd(t, leader.Process) // It has lost its Lease.
	if now, _ := s.holder(t); now == holder {
		t.Error("the Lease that has run out is not released")
	}
	s.awaitSettled(t, leader)
	checkNoWrites(t, leader, thawed, m, mt, begunMost)
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
