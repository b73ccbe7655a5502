package failover_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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
	// kubeconfigVariable holds the kubeconfig of the target for one replica.
	kubeconfigVariable = "TARGET_KUBECONFIG"
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// A replica is a provider that takes part in the leader election.
type replica struct {
	*provider.Process

	user string // on both servers
}

// A stage is the control plane and the target, with a ProviderConfig that is for each replica another user.
type stage struct {
	c, tc    client.Client
	config   string // the ProviderConfig
	replicas int
}

func newStage(t *testing.T) *stage {
	t.Helper()
	local.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	s := &stage{c: local.Client(t, apis.AddToScheme), tc: target.Client(t), config: target.Namespace(t)}
	spec := commonv1.ProviderConfigSpec{
		Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceEnvironment},
	}
	spec.Credentials.Env = &xpv2.EnvSelector{Name: kubeconfigVariable}
	kube.Create(t, s.c, build.Cluster().Config("", s.config, spec))
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

// start starts a replica and waits until its caches are filled. It reaches the control plane through what through
// returns, if that is not nil.
func (s *stage) start(t *testing.T, through func(*rest.Config) *rest.Config) *replica {
	t.Helper()
	s.replicas++
	r := &replica{user: fmt.Sprintf("%s-%d", s.config, s.replicas)}
	cfg := local.User(t, r.user, admins)
	if through != nil {
		cfg = through(cfg)
	}
	r.Process = program.Start(t, cfg, provider.Options{
		Args: []string{
			"--leader-election", "--leader-election-lease-duration=" + lease.String(),
			"--leader-election-renew-deadline=" + renewDeadline.String(),
		},
		Env: []string{kubeconfigVariable + "=" + string(kube.Kubeconfig(t, target.User(t, r.user, admins)))},
	})
	kube.Eventually(t, "replica "+r.user+" to be ready", func() (bool, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Readyz(), nil)
		if err != nil {
			return false, err.Error()
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err.Error()
		}
		return res.StatusCode == http.StatusOK, res.Status + fmt.Sprint(res.Body.Close())
	})
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
	return slices.DeleteFunc(server.Audit(t).Since(m).By(user), func(e audit.AuditEvent) bool {
		return e.Verb == "get" || e.Verb == "list" || !e.Time.After(from)
	})
}

// checkNoWrites checks that a replica has written nothing to either server since another has led.
func checkNoWrites(t *testing.T, former *replica, since time.Time, m, mt kube.Mark) {
	t.Helper()
	onLocal, onTarget := writes(t, &local, m, former.user, since), writes(t, &target, mt, former.user, since)
	if len(onLocal)+len(onTarget) > 0 {
		t.Errorf("writes of a replica after another has led: want none, "+
			"got %d to the control plane and %d to the target since %s:\n%s%s",
			len(onLocal), len(onTarget), since, onLocal, onTarget)
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
