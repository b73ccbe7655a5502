package failover_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	admins = "system:masters"
	// lease is the duration of the Lease. The leader tries to renew it until renewDeadline.
	lease         = 10 * time.Second
	renewDeadline = 8 * time.Second
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// A replica is a provider that takes part in the leader election, through a proxy to the control plane.
type replica struct {
	*provider.Process

	user  string // on both servers
	proxy *kube.Proxy
}

// A stage is the control plane and the target, with ProviderConfigs that are for each replica another user. Each has
// Objects in a namespace of the target that is called like it.
type stage struct {
	c, tc    client.Client
	name     string // begins all other names
	configs  []string
	replicas int
}

func newStage(t *testing.T, configs int) *stage {
	t.Helper()
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	s := &stage{c: local.Client(t, apis.AddToScheme), tc: target.Client(t), name: target.Namespace(t)}
	for i := range configs {
		name := fmt.Sprintf("%s-%d", s.name, i)
		spec := commonv1.ProviderConfigSpec{
			Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceEnvironment},
		}
		spec.Credentials.Env = &xpv2.EnvSelector{Name: variable(i)}
		kube.Create(t, s.tc, &corev1.Namespace{ObjectMeta: build.Meta("", name)})
		kube.Create(t, s.c, build.Cluster().Config("", name, spec))
		s.configs = append(s.configs, name)
	}
	t.Cleanup(func() {
		// A Lease whose holder was killed would keep the next test waiting.
		ctx := context.WithoutCancel(t.Context())
		if err := s.c.DeleteAllOf(ctx, &coordinationv1.Lease{},
			client.InNamespace(metav1.NamespaceDefault)); err != nil {
			t.Error(err)
		}
	})
	return s
}

// variable is the one that holds the kubeconfig of a ProviderConfig.
func variable(config int) string { return fmt.Sprintf("TARGET_%d", config) }

// start starts a replica and waits until its caches are filled.
func (s *stage) start(t *testing.T, args ...string) *replica {
	t.Helper()
	s.replicas++
	r := &replica{user: fmt.Sprintf("%s-replica-%d", s.name, s.replicas)}
	proxy, cfg := kube.NewProxy(t, local.User(t, r.user, admins))
	r.proxy = proxy
	var env []string
	kubeconfig := string(kube.Kubeconfig(t, target.User(t, r.user, admins)))
	for i := range s.configs { // Other credentials are another connection.
		env = append(env, fmt.Sprintf("%s=%s\n# %d\n", variable(i), kubeconfig, i))
	}
	r.Process = program.Start(t, cfg, provider.Options{Env: env, Args: append([]string{
		"--leader-election", "--leader-election-lease-duration=" + lease.String(),
		"--leader-election-renew-deadline=" + renewDeadline.String(),
	}, args...)})
	program.AwaitReady(t, r.Process)
	return r
}

// holder returns who holds the Lease, empty for nobody, and since when.
func (s *stage) holder(t *testing.T) (string, time.Time) {
	t.Helper()
	l := &coordinationv1.Lease{}
	key := types.NamespacedName{
		Namespace: metav1.NamespaceDefault, Name: "crossplane-leader-election-provider-kubernetes",
	}
	if err := client.IgnoreNotFound(s.c.Get(t.Context(), key, l)); err != nil {
		t.Fatal(err)
	}
	if l.Spec.HolderIdentity == nil || l.Spec.AcquireTime == nil {
		return "", time.Time{}
	}
	return *l.Spec.HolderIdentity, l.Spec.AcquireTime.Time
}

// awaitHolder waits until another than former holds the Lease, and returns who, and since when.
func (s *stage) awaitHolder(t *testing.T, former string) (string, time.Time) {
	t.Helper()
	var now string
	var since time.Time
	kube.Eventually(t, "a new holder of the Lease", func() (bool, string) {
		now, since = s.holder(t)
		return now != "" && now != former, now
	})
	return now, since
}

// writes returns the writes of a user to a server from a time on, but for those of the leader election.
func writes(t *testing.T, server *kube.Server, m kube.Mark, user string, from time.Time) kube.Requests {
	t.Helper()
	return server.Audit(t).Since(m).By(user).Writes().That(func(e audit.AuditEvent) bool { return e.Time.After(from) })
}

// checkNoWrites checks that a replica has written nothing to either server since another has led, but for some writes
// that had begun before.
func checkNoWrites(t *testing.T, former *replica, since time.Time, m, mt kube.Mark, begun int) {
	t.Helper()
	onLocal, onTarget := writes(t, &local, m, former.user, since), writes(t, &target, mt, former.user, since)
	if len(onLocal)+len(onTarget) > begun {
		t.Errorf("writes of a replica after another has led: want at most %d, "+
			"got %d to the control plane and %d to the target since %s:\n%s%s",
			begun, len(onLocal), len(onTarget), since, onLocal, onTarget)
	}
}

// awaitWrites waits until a replica has written more than n times to the target from a time on, and reports whether it
// still runs.
func (s *stage) awaitWrites(t *testing.T, r *replica, mt kube.Mark, from time.Time, n int) bool {
	t.Helper()
	kube.Eventually(t, "writes of replica "+r.user, func() (bool, string) {
		got := len(writes(t, &target, mt, r.user, from))
		return got > n || r.ended(), strconv.Itoa(got)
	})
	return !r.ended()
}

// ended reports whether the process of a replica is gone.
func (r *replica) ended() bool {
	select {
	case <-r.Exited():
		return true
	default:
		return false
	}
}
