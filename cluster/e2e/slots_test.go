package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// A shop has ProviderConfigs with one Object each. With each of them, each replica is a user of its own on the target.
type shop struct {
	c, tc     client.Client
	namespace string // on the target
	configs   []string
	objects   []build.Object
	replicas  int
	slots     *slot.Slots
	since     kube.Mark
}

// configs is how many ProviderConfigs there are, half of them in each of two slots.
const configs = 6

func newShop(t *testing.T) *shop {
	t.Helper()
	c, tc := clients(t)
	deleteLeases(t, c)
	s := &shop{c: c, tc: tc, namespace: targetNamespace(t), slots: slot.New(2), since: target.Audit(t).Mark()}
	for n, in := 0, [2]int{}; len(s.configs) < configs; n++ {
		pc := build.Cluster().Config("", fmt.Sprintf("%s-%d", s.namespace, n), commonv1.ProviderConfigSpec{
			Credentials: commonv1.ProviderCredentials{
				Source: xpv2.CredentialsSourceEnvironment, CommonCredentialSelectors: xpv2.CommonCredentialSelectors{
					Env: &xpv2.EnvSelector{Name: variable(len(s.configs))},
				},
			},
		})
		of := s.slotOf(pc.GetName())
		if in[of]++; in[of] > configs/2 {
			continue
		}
		kube.Create(t, c, pc)
		manifest := build.ConfigMap(s.namespace, pc.GetName(), "round", "0")
		s.configs = append(s.configs, pc.GetName())
		s.objects = append(s.objects, build.Cluster().Object("", pc.GetName(), pc.GetName(), manifest))
	}
	return s
}

func variable(config int) string { return fmt.Sprintf("TARGET_%d", config) }

// start starts a replica, and waits until its caches are filled. Its name ends the users that it is on the target.
func (s *shop) start(t *testing.T, args ...string) (p *provider.Process, name string) {
	t.Helper()
	s.replicas++
	name = fmt.Sprintf("replica-%d", s.replicas)
	var env []string
	for i, config := range s.configs {
		cfg := target.User(t, config+"."+name, admins)
		env = append(env, variable(i)+"="+string(kube.Kubeconfig(t, cfg)))
	}
	p = program.Start(t, local.User(t, user, admins), provider.Options{Env: env, Args: append([]string{
		"--leader-election", "--leader-election-lease-duration=8s", "--leader-election-renew-deadline=6s",
	}, args...)})
	program.AwaitReady(t, p)
	return p, name
}

// change has all Objects want something new, and waits until the target has it.
func (s *shop) change(t *testing.T, round string) {
	t.Helper()
	for _, o := range s.objects {
		kube.Patch(t, s.c, o, `{"spec":{"forProvider":{"manifest":{"data":{"round":"`+round+`"}}}}}`)
	}
	for _, o := range s.objects {
		kube.Eventually(t, "ConfigMap of "+o.GetName()+" in round "+round, func() (bool, string) {
			cm := &corev1.ConfigMap{}
			err := s.tc.Get(t.Context(), types.NamespacedName{Namespace: s.namespace, Name: o.GetName()}, cm)
			return err == nil && cm.Data["round"] == round, fmt.Sprint(err, cm.Data)
		})
		awaitReady(t, s.c, o)
	}
}

// writers returns the replicas that have written through a ProviderConfig, in the order in which they did: one that
// writes after another did has two entries.
func (s *shop) writers(t *testing.T, config string) []string {
	t.Helper()
	var all []string
	for _, e := range target.Audit(t).Since(s.since).Writes() {
		if by, ok := strings.CutPrefix(e.User, config+"."); ok {
			all = append(all, by)
		}
	}
	return slices.Compact(all)
}

// check checks who has written through the ProviderConfigs of a slot, one after another.
func (s *shop) check(t *testing.T, slot int, want ...string) {
	t.Helper()
	for _, config := range s.of(slot) {
		if got := s.writers(t, config); !slices.Equal(got, want) {
			t.Errorf("replicas that have written through %s of slot %d: want %v, got %v", config, slot, want, got)
		}
	}
}

// owner returns the replica that has written last for a slot.
func (s *shop) owner(t *testing.T, slot int) string {
	t.Helper()
	writers := s.writers(t, s.of(slot)[0])
	return writers[len(writers)-1]
}

// of returns the ProviderConfigs of a slot.
func (s *shop) of(slot int) []string {
	return slices.DeleteFunc(slices.Clone(s.configs), func(config string) bool { return s.slotOf(config) != slot })
}

func (s *shop) slotOf(config string) int {
	return s.slots.Of(scope.Holder(build.Cluster().Config("", config, commonv1.ProviderConfigSpec{})))
}

// TestReplicasShareTheWork shows that through each ProviderConfig one replica writes at a time: when one replica gives
// way to two, and when one of these is killed.
func TestReplicasShareTheWork(t *testing.T) {
	s := newShop(t)
	alone, first := s.start(t)
	for _, o := range s.objects {
		kube.Create(t, s.c, o)
	}
	s.change(t, "1")

	// As in a rollout, the new replicas are there before the old one ends.
	replicas := map[string]*provider.Process{}
	for range 2 {
		p, name := s.start(t, "--shards=2")
		replicas[name] = p
	}
	s.change(t, "2")
	for slot := range 2 {
		s.check(t, slot, first)
	}
	if err := alone.Stop(); err != nil {
		t.Error(err)
	}
	s.change(t, "3")
	killed, kept := s.owner(t, 0), s.owner(t, 1)
	if killed == kept {
		t.Errorf("%s writes for both slots", kept)
	}
	s.check(t, 0, first, killed)
	s.check(t, 1, first, kept)

	// The spare takes the slot of the replica that is killed, and no other.
	_, spare := s.start(t, "--shards=2")
	replicas[killed].Kill()
	s.change(t, "4")
	s.check(t, 0, first, killed, spare)
	s.check(t, 1, first, kept)
}
