package failover_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// TestCutOffLeaderWritesNothing cuts the leader off from the control plane, while it still reaches the target, where
// somebody keeps changing what it would revert.
func TestCutOffLeaderWritesNothing(t *testing.T) {
	s := newStage(t)
	var proxy *kube.Proxy
	leader := s.start(t, func(cfg *rest.Config) *rest.Config {
		proxy, cfg = kube.NewProxy(t, cfg)
		return cfg
	})
	holder, _ := s.awaitHolder(t, "")
	m, mt := local.Audit(t).Mark(), target.Audit(t).Mark()
	follower := s.start(t, nil)
	storm := s.newStorm(t)
	s.awaitWrites(t, leader, mt, time.Time{}, stormRate)
	storm.end()
	s.awaitSettled(t, follower)
	endDrift := s.drift(t)

	proxy.Cut(math.MaxInt)
	cut := time.Now()
	_, since := s.awaitHolder(t, holder)
	program.AwaitEnd(t, leader.Process) // It has lost its Lease.
	endDrift()
	t.Logf("cut off for %s until another led; %d writes to the target by the former leader meanwhile",
		since.Sub(cut).Round(time.Millisecond), len(writes(t, &target, mt, leader.user, cut)))
	s.awaitSettled(t, follower)
	checkNoWrites(t, leader, since, m, mt)
}

// drift changes ConfigMaps of the storm on the target until the function it returns is called.
func (s *stage) drift(t *testing.T) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var drifting sync.WaitGroup
	drifting.Go(func() {
		for limit := rate.NewLimiter(stormRate, 1); limit.Wait(ctx) == nil; {
			cm := &corev1.ConfigMap{ObjectMeta: build.Meta(s.config,
				fmt.Sprintf("%s-%d", s.config, rand.IntN(stormSize)))}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"value":"drift"}}`))
			if err := client.IgnoreNotFound(s.tc.Patch(ctx, cm, patch)); err != nil && ctx.Err() == nil {
				t.Errorf("drift: %v", err)
				return
			}
		}
	})
	end := func() { cancel(); drifting.Wait() }
	t.Cleanup(end)
	return end
}
