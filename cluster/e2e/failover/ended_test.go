package failover_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestLeaderEnds kills the leader during a storm of changes, and stops the next one, as a kubelet does. The caches of
// who leads then are filled already, and it does not wait for the Lease of one that was stopped.
func TestLeaderEnds(t *testing.T) {
	s := newStage(t, 1)
	leader := s.start(t)
	leader = s.end(t, leader, func() { leader.Kill() })
	s.end(t, leader, func() {
		holder, _ := s.holder(t)
		if err := leader.Stop(); err != nil {
			t.Fatal(err)
		}
		if now, _ := s.holder(t); now == holder {
			t.Error("the Lease of a leader that was stopped is not released")
		}
	})
}

// end ends the leader in the middle of a storm, and returns the next one.
func (s *stage) end(t *testing.T, leader *replica, how func()) *replica {
	t.Helper()
	follower := s.start(t)
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	endStorm := s.newStorm(t, stormRate)
	s.awaitWrites(t, leader, mt, time.Time{}, stormRate)
	holder, _ := s.holder(t)
	how()
	_, since := s.awaitHolder(t, holder)
	s.awaitWrites(t, follower, mt, since, 0)
	endStorm()
	follower = s.awaitSettled(t, follower)
	if cold := coldKinds(t, m, follower); len(cold) > 0 {
		t.Errorf("kinds that a replica lists only once it leads: want none, got %q", cold)
	}
	return follower
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
