package failover_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	// sharedConfigs is how many ProviderConfigs there are, and sharedObjects how many Objects there may be at a time.
	sharedConfigs = 60
	sharedObjects = 3 * sharedConfigs
	// sharedRate is how many Objects are created, changed or deleted in a second.
	sharedRate = 20
)

// A sharedStage is a stage with many ProviderConfigs, whose replicas share the work. Each ProviderConfig has Objects in
// a namespace of its own on the target, and each replica is a user of its own there.
type sharedStage struct {
	*stage

	namespaces []string // of the ProviderConfigs, which have the same names
	number     int      // of slots
	running    []*sharingReplica
}

type sharingReplica struct {
	*replica

	proxy  *kube.Proxy // between the replica and the control plane
	number int         // of slots
}

func newSharedStage(t *testing.T) *sharedStage {
	t.Helper()
	s := &sharedStage{stage: newStage(t), number: 3}
	for i := range sharedConfigs {
		ns := fmt.Sprintf("%s-%d", s.config, i)
		kube.Create(t, s.tc, &corev1.Namespace{ObjectMeta: build.Meta("", ns)})
		spec := commonv1.ProviderConfigSpec{
			Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceEnvironment},
		}
		spec.Credentials.Env = &xpv2.EnvSelector{Name: kubeconfigVariable + strconv.Itoa(i)}
		kube.Create(t, s.c, build.Cluster().Config("", ns, spec))
		s.namespaces = append(s.namespaces, ns)
	}
	return s
}

// fill starts replicas until there is one for each slot, and a spare.
func (s *sharedStage) fill(t *testing.T) {
	t.Helper()
	s.running = slices.DeleteFunc(s.running, func(r *sharingReplica) bool { return r.ended() })
	for have := 0; have <= s.number; have++ {
		if have < len(s.running) && s.running[have].number == s.number {
			continue
		}
		s.replicas++
		r := &sharingReplica{replica: &replica{user: fmt.Sprintf("%s-%d", s.config, s.replicas)}, number: s.number}
		proxy, cfg := kube.NewProxy(t, local.User(t, r.user, admins))
		r.proxy = proxy
		var env []string
		kubeconfig := string(kube.Kubeconfig(t, target.User(t, r.user, admins)))
		for i := range sharedConfigs { // Other credentials are another connection.
			env = append(env, fmt.Sprintf("%s%d=%s\n# %d\n", kubeconfigVariable, i, kubeconfig, i))
		}
		r.Process = program.Start(t, cfg, provider.Options{Env: env, Args: []string{
			"--leader-election", "--leader-election-lease-duration=" + lease.String(),
			"--leader-election-renew-deadline=" + renewDeadline.String(), "--shards=" + strconv.Itoa(s.number),
		}})
		s.running = slices.Insert(s.running, have, r)
	}
}

// change creates, changes and deletes Objects until the function is called that it returns.
func (s *sharedStage) change(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var changing sync.WaitGroup
	changing.Go(func() {
		for limit := rate.NewLimiter(sharedRate, 1); limit.Wait(ctx) == nil; {
			i := rand.IntN(sharedObjects)
			ns, value := s.namespaces[i%sharedConfigs], strconv.Itoa(rand.Int())
			name := fmt.Sprintf("%s-%d", s.config, i)
			if err := s.write(ctx, ns, name, value); err != nil && ctx.Err() == nil {
				t.Errorf("cannot change Objects: %v", err)
				return
			}
		}
	})
	return func() { cancel(); changing.Wait() }
}

// settle waits until there is a ConfigMap for each Object, as the Object wants it, and no other.
func (s *sharedStage) settle(t *testing.T) {
	t.Helper()
	kube.Eventually(t, "each Object to have its ConfigMap, and none without an Object", func() (bool, string) {
		s.fill(t)
		return s.settled(t.Context(), s.namespaces...)
	})
}

// checkWriters checks that no replica has written through a ProviderConfig after another one had taken over.
func (s *sharedStage) checkWriters(t *testing.T, m kube.Mark) {
	t.Helper()
	by := map[string][]string{}
	all := target.Audit(t).Since(m)
	slices.SortStableFunc(all, func(a, b audit.AuditEvent) int { return a.Time.Compare(b.Time) })
	for _, e := range all {
		if e.Verb != "get" && e.Verb != "list" && strings.HasPrefix(e.User, s.config+"-") {
			by[e.Namespace] = append(by[e.Namespace], e.User)
		}
	}
	for _, ns := range s.namespaces {
		writers := slices.Compact(by[ns])
		if unique := slices.Compact(slices.Sorted(slices.Values(writers))); len(unique) != len(writers) {
			t.Errorf("replicas that have written to %s: want each once, got %v", ns, writers)
		}
	}
}

// TestSharedWork has replicas share the work while they are killed, frozen and cut off from the control plane, and
// while their number changes.
func TestSharedWork(t *testing.T) {
	s := newSharedStage(t)
	m := target.Audit(t).Mark()
	s.fill(t)
	s.settle(t)
	for round := range kube.Setting(t, "SHARED_ROUNDS", 4) {
		end := s.change(t)
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
			frozen := freeze(t, r.replica)
			kube.Eventually(t, "its Lease to be another's", func() (bool, string) {
				return time.Since(frozen) > 2*lease, ""
			})
			thaw(t, r.replica)
		default:
			r.proxy.Cut(math.MaxInt)
		}
		end()
		s.settle(t)
		r.Kill() // A spare that is cut off does not end.
		s.checkWriters(t, m)
	}
}
