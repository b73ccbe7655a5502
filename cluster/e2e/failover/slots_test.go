package failover_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// sharedConfigs is how many ProviderConfigs there are, and sharedRate how many Objects change in a second.
	sharedConfigs = 60
	sharedRate    = 20
)

// A sharedStage is a stage with many ProviderConfigs, whose replicas share the work.
type sharedStage struct {
	*stage

	number  int // of slots
	running []*replica
	slots   map[*replica]int // for which each has been started
}

// fill starts replicas until there is one for each slot, and a spare.
func (s *sharedStage) fill(t *testing.T) {
	t.Helper()
	s.running = slices.DeleteFunc(s.running, func(r *replica) bool { return r.ended() })
	for have := 0; have <= s.number; have++ {
		if have < len(s.running) && s.slots[s.running[have]] == s.number {
			continue
		}
		r := s.start(t, "--shards="+strconv.Itoa(s.number))
		s.slots[r] = s.number
		s.running = slices.Insert(s.running, have, r)
	}
}

// settle waits until there is a ConfigMap for each Object, as the Object wants it, and no other.
func (s *sharedStage) settle(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "each Object to have its ConfigMap, and none without an Object", func() (bool, string) {
		s.fill(t)
		return s.settled(t.Context())
	})
}

// checkWriters checks that no replica has written through a ProviderConfig after another one had taken over.
func (s *sharedStage) checkWriters(t *testing.T, m kube.Mark) {
	t.Helper()
	by := map[string][]string{}
	all := target.Audit(t).Since(m).Writes()
	slices.SortStableFunc(all, func(a, b audit.AuditEvent) int { return a.Time.Compare(b.Time) })
	for _, e := range all {
		if strings.HasPrefix(e.User, s.name+"-replica-") {
			by[e.Namespace] = append(by[e.Namespace], e.User)
		}
	}
	for _, ns := range s.configs {
		writers := slices.Compact(by[ns])
		if unique := slices.Compact(slices.Sorted(slices.Values(writers))); len(unique) != len(writers) {
			t.Errorf("replicas that have written to %s: want each once, got %v", ns, writers)
		}
	}
}

// TestSharedWork has replicas share the work while they are killed, frozen and cut off from the control plane, and
// while their number changes.
func TestSharedWork(t *testing.T) {
	s := &sharedStage{stage: newStage(t, sharedConfigs), number: 3, slots: map[*replica]int{}}
	m := target.Audit(t).Mark()
	s.fill(t)
	s.settle(t)
	for round := range kube.Setting(t, "SHARED_ROUNDS", 4) {
		end := s.newStorm(t, sharedRate)
		r := s.running[rand.IntN(s.number)]
		switch round % 4 {
		case 0:
			r.Kill()
		case 1:
			s.number = 5 - s.number // From 3 to 2, and back.
			was := slices.Clone(s.running)
			s.fill(t)
			for _, r := range was {
				if err := r.Stop(); err != nil {
					t.Error(err)
				}
			}
		case 2:
			frozen := freeze(t, r)
			kube.Eventually(t, "its Lease to be another's", func() (bool, string) {
				return time.Since(frozen) > 2*lease, ""
			})
			thaw(t, r)
		default:
			r.proxy.Cut(math.MaxInt)
		}
		end()
		s.settle(t)
		r.Kill() // A spare that is cut off does not end.
		s.checkWriters(t, m)
	}
}
