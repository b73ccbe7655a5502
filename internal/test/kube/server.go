package kube

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// maxNamePrefix leaves room in a label, 63 characters, for the separator and what the server appends.
const maxNamePrefix = 50

// cleanupTimeout bounds what a test does after its end, against a server that may be down.
const cleanupTimeout = 10 * time.Second

// Run starts servers, runs the tests, stops the servers, and returns the code to exit with. It starts any mix of
// *Server and *kcp.Server at the same time. Controllers in the process log for go test -v only. It starts no server for
// a run that fuzzes, nor for each of the processes that do so: what is fuzzed needs none.
func Run(m *testing.M, servers ...local.Starter) int {
	setLogger()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		return m.Run()
	}
	return local.Main(m, servers...)
}

// SharedServers is the environment variable with the folder in which cmd/local runs servers for all packages: a cluster
// for each name of a Server, and kcp. Without it each package starts its own servers.
const SharedServers = "PROVIDER_KCP_TEST_SERVERS"

// errShared is why a test cannot stop, restart, back up or restore a server.
const errShared = "the server is shared with other packages: run this test by make e2e, or its package alone"

// A Server is an API server with an etcd of its own and an audit log. Set its fields, if any, before Run; use it after.
type Server struct {
	// Shared is the name of a cluster of SharedServers that serves as well: names of what tests make in it that has no
	// namespace differ from those of other packages, and so do users whose requests they count. Of its own if empty.
	Shared string
	// ControllerManager adds kube-controller-manager, for tests that need the garbage collector.
	ControllerManager bool
	// TokenWebhook is the URL of a webhook that tells who has a bearer token. None if empty.
	TokenWebhook string

	cluster  *local.Cluster
	attached bool
	stopped  bool
}

// Start is for Run.
func (s *Server) Start(ctx context.Context) (stop func() error, err error) {
	if shared := os.Getenv(SharedServers); shared != "" && s.Shared != "" {
		s.attached = true
		s.cluster, err = local.AttachCluster(filepath.Join(shared, s.Shared))
		return func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make folder of server")
	}
	s.cluster, err = local.StartCluster(ctx,
		local.ClusterOptions{
			Dir: dir, ControllerManager: s.ControllerManager, Audit: true, TokenWebhook: s.TokenWebhook,
		})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return func() error {
		if err := s.cluster.Stop(); err != nil {
			return err
		}
		return errors.Wrap(os.RemoveAll(dir), "cannot remove folder of server")
	}, nil
}

// StartServer starts a server for one test, which stops it at its end.
func StartServer(tb testing.TB, s local.Starter) {
	tb.Helper()
	stop, err := s.Start(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
}

// Config returns a copy of the administrator's configuration.
func (s *Server) Config() *rest.Config {
	return s.cluster.Config()
}

// Client returns an administrator's client without a cache. Its scheme has the built-in types, CustomResourceDefinition
// and what add adds.
func (s *Server) Client(tb testing.TB, add ...func(*runtime.Scheme) error) client.Client {
	tb.Helper()
	known := runtime.NewScheme()
	for _, f := range append(add, scheme.AddToScheme, apiextensionsv1.AddToScheme) {
		if err := f(known); err != nil {
			tb.Fatalf("cannot add to scheme: %v", err)
		}
	}
	c, err := client.New(s.Config(), client.Options{Scheme: known})
	if err != nil {
		tb.Fatalf("cannot make client: %v", err)
	}
	return c
}

// Namespace creates a namespace for the test, with a name that begins like that of the test, and returns its name.
func (s *Server) Namespace(tb testing.TB) string {
	tb.Helper()
	c := s.Client(tb)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namePrefix(tb.Name())}}
	if err := c.Create(tb.Context(), ns); err != nil {
		tb.Fatalf("cannot create namespace: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		// Only to keep the server small. The server itself goes away soon.
		_ = c.Delete(ctx, ns)
	})
	return ns.GetName()
}

// User returns the configuration of a user. It has no rights but those of its groups; system:masters has all.
func (s *Server) User(tb testing.TB, name string, groups ...string) *rest.Config {
	tb.Helper()
	cfg, err := s.cluster.User(name, groups...)
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// Kubeconfig returns a kubeconfig that needs no other file.
func Kubeconfig(tb testing.TB, cfg *rest.Config) []byte {
	tb.Helper()
	b, err := local.Kubeconfig(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// InstallCRDs creates or updates the CustomResourceDefinitions in folders or files, and waits until they are served.
// They stay: other tests of the package may use them.
func (s *Server) InstallCRDs(tb testing.TB, paths ...string) {
	tb.Helper()
	if _, err := envtest.InstallCRDs(s.Config(),
		envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}); err != nil {
		tb.Fatalf("cannot install CustomResourceDefinitions: %v", err)
	}
}

// Stop ends the API server: its address refuses connections until Restart, or until the test ends. Its data stay. Not
// for tests that run in parallel with others.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.own(tb)
	if err := s.cluster.StopAPIServer(); err != nil {
		tb.Fatal(err)
	}
	s.stopped = true
	tb.Cleanup(func() {
		if s.stopped {
			s.Restart(tb)
		}
	})
}

// own fails the test if other packages use the server, too.
func (s *Server) own(tb testing.TB) {
	tb.Helper()
	if s.attached {
		tb.Fatal(errShared)
	}
}

// Restart brings the API server back after Stop, at the same address, with the same data and users.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	// Also called by a Cleanup, when the context of the test has ended.
	if err := s.cluster.StartAPIServer(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatal(err)
	}
	s.stopped = false
}

// Backup copies the data of the server as they are now, for Restore.
func (s *Server) Backup(tb testing.TB) {
	tb.Helper()
	s.own(tb)
	if err := s.cluster.Backup(); err != nil {
		tb.Fatal(err)
	}
}

// Restore stops the server and starts it again with the data of the last Backup: what has happened since is undone, and
// its resource versions are given out once more. Not for tests that run in parallel with others.
func (s *Server) Restore(tb testing.TB) {
	tb.Helper()
	if err := s.cluster.Restore(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatal(err)
	}
}

// namePrefix makes the beginning of an object's name from that of a test.
func namePrefix(test string) string {
	dns := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(test))
	return strings.Trim(dns[:min(len(dns), maxNamePrefix)], "-") + "-"
}
