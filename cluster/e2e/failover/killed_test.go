package failover_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// mostFailover is how long after the end of the Lease another replica may write for the first time. A second is what a
// calm machine needs.
const mostFailover = 5 * time.Second

// TestKilledLeader kills the leader in the middle of a storm. Another replica writes as soon as the Lease has run out,
// from caches that it has filled before.
func TestKilledLeader(t *testing.T) {
	s := newStage(t)
	leader := s.start(t, nil)
	for range rounds(t) {
		leader = s.killOnce(t, leader)
	}
}

// killOnce is one round. It returns who leads then.
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
	s.awaitWrites(t, follower, mt, since, 0)
	first := writes(t, &target, mt, follower.user, since)[0].Time
	storm.end()
	follower = s.awaitSettled(t, follower)
	t.Logf("killed; another led after %s and wrote after %s", since.Sub(killed).Round(time.Millisecond),
		first.Sub(killed).Round(time.Millisecond))
	if got := first.Sub(killed); got > lease+mostFailover {
		t.Errorf("first write after the leader is killed: want within %s, got %s", lease+mostFailover, got)
	}
	if cold := coldKinds(t, m, follower); len(cold) > 0 {
		t.Errorf("kinds that a replica lists only once it leads: want none, got %q", cold)
	}
	return follower
}

// coldKinds returns the kinds with a group that a replica has begun to watch on the control plane since m.
func coldKinds(t *testing.T, m kube.Mark, r *replica) []string {
	t.Helper()
	kinds := map[string]bool{}
	for _, e := range local.Audit(t).Watches(m).By(r.user) {
		if strings.Contains(e.Subject(), ".") {
			kinds[e.Subject()] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
