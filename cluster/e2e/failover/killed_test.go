package failover_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestKilledLeader kills the leader during a storm of changes. The next leader writes as soon as the Lease has
// expired. Its caches are already filled.
func TestKilledLeader(t *testing.T) {
	s := newStage(t)
	leader := s.start(t, nil)
	for range rounds(t) {
		leader = s.killOnce(t, leader)
	}
}

// killOnce runs one round, and returns the new leader.
func (s *stage) killOnce(t *testing.T, leader *replica) *replica {
	t.Helper()
	follower := s.start(t, nil)
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	storm := s.newStorm(t)
	s.awaitWrites(t, leader, mt, time.Time{}, stormRate)
	holder, _ := s.holder(t)
	killed := time.Now()
	leader.Kill()
	_, since := s.awaitHolder(t, holder)
	s.awaitFirstWrite(t, follower, mt, killed, since)
	storm.end()
	follower = s.awaitSettled(t, follower)
	if cold := coldKinds(t, m, follower); len(cold) > 0 {
		t.Errorf("kinds that a replica lists only once it leads: want none, got %q", cold)
	}
	return follower
}

// TestStoppedLeader stops the leader during a storm of changes, as a kubelet does. The next leader does not wait for
// the Lease to expire.
func TestStoppedLeader(t *testing.T) {
	s := newStage(t)
	leader := s.start(t, nil)
	follower := s.start(t, nil)
	mt := target.Audit(t).Mark()
	storm := s.newStorm(t)
	s.awaitWrites(t, leader, mt, time.Time{}, stormRate)
	holder, _ := s.holder(t)
	stopped := time.Now()
	if err := leader.Stop(); err != nil {
		t.Fatal(err)
	}
	_, since := s.awaitHolder(t, holder)
	if waited := since.Sub(stopped); waited >= lease {
		t.Errorf("want the Lease of %s released by who stops, it was waited for %s", lease, waited)
	}
	s.awaitFirstWrite(t, follower, mt, stopped, since)
	storm.end()
	s.awaitSettled(t, follower)
}

// awaitFirstWrite waits until a replica which became leader at since writes, and logs how long that took.
func (s *stage) awaitFirstWrite(t *testing.T, r *replica, mt kube.Mark, ended, since time.Time) {
	t.Helper()
	s.awaitWrites(t, r, mt, since, 0)
	got := writes(t, &target, mt, r.user, since)[0].Time.Sub(ended)
	t.Logf("another led after %s and wrote after %s", since.Sub(ended).Round(time.Millisecond),
		got.Round(time.Millisecond))
}

// coldKinds returns the kinds with an API group that a replica has listed on the control plane since m, by a list or
// by a watch that begins with one. It ignores resumed watches, and the empty list that precedes them.
func coldKinds(t *testing.T, m kube.Mark, r *replica) []string {
	t.Helper()
	audit, kinds := local.Audit(t), map[string]bool{}
	for _, e := range append(audit.Since(m).By(r.user), audit.Watches(m).By(r.user)...) {
		lists := e.Verb == "list" || strings.Contains(e.URI, "sendInitialEvents=true")
		if lists && e.Group != "" && e.Name == "" {
			kinds[e.Subject()] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
