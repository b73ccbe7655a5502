package failover_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// TestCutOffLeaderWritesNothing cuts the leader off from the control plane, while it still reaches the target, where
// somebody keeps changing what it would revert.
func TestCutOffLeaderWritesNothing(t *testing.T) {
	s := newStage(t, 1)
	leader := s.start(t)
	holder, _ := s.awaitHolder(t, "")
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	follower := s.start(t)
	endStorm := s.newStorm(t, stormRate)
	s.awaitWrites(t, leader, mt, time.Time{}, stormRate)
	endStorm()
	s.awaitSettled(t, follower)
	endDrift := s.drift(t)

	leader.proxy.Cut(math.MaxInt)
	_, since := s.awaitHolder(t, holder)
	program.AwaitEnd(t, leader.Process) // It has lost its Lease.
	endDrift()
	s.awaitSettled(t, follower)
	checkNoWrites(t, leader, since, m, mt, 0)
}

// drift changes ConfigMaps of the storm on the target until the function it returns is called.
func (s *stage) drift(t *testing.T) (end func()) {
	t.Helper()
	return repeat(t, rate.NewLimiter(stormRate, 1), func(ctx context.Context) error {
		cm := &corev1.ConfigMap{ObjectMeta: build.Meta(s.configs[0], fmt.Sprintf("%s-%d", s.name, rand.IntN(stormSize)))}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"value":"drift"}}`))
		return client.IgnoreNotFound(s.tc.Patch(ctx, cm, patch))
	})
}
