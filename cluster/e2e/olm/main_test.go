package olm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
	soon = 60 * time.Second
	// logTail is how much of the provider's log a failure shows, in bytes.
	logTail = 8 << 10
	admins  = "system:masters"
)

// Objects live on one cluster, and OLM works on another. Both collect garbage: the uses of ProviderConfigs, and what belongs to operators.
var (
	control = kube.Server{ControllerManager: true}
	target  = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // envtest logs what it installs.
	os.Exit(kube.Run(m, &control, local.StartFunc(startTarget)))
}

// startTarget starts the target with what makes an OLM work: nodes, its CustomResourceDefinitions, and a catalog of one operator.
func startTarget(ctx context.Context) (stop func() error, err error) {
	s := &stack{}
	defer func() {
		if err != nil {
			_ = s.stop() // Why it did not start matters more than what else goes wrong.
		}
	}()
	if err := s.add(target.Start(ctx)); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "olm-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make folder of OLM")
	}
	if err := s.add(func() error { return os.RemoveAll(dir) }, nil); err != nil {
		return nil, err
	}
	cfg := target.Config()
	nodes, err := local.StartNodes(ctx, local.NodesOptions{Dir: filepath.Join(dir, "nodes"), Config: cfg})
	if err != nil {
		return nil, err
	}
	if err := s.add(nodes.Stop, nil); err != nil {
		return nil, err
	}
	olm, err := startOLM(ctx, dir, cfg)
	if err != nil {
		return nil, err
	}
	return s.stop, s.add(olm.Stop, nil)
}

// A stack is what has been started, to be stopped in reverse.
type stack []func() error

func (s *stack) add(stop func() error, err error) error {
	if err == nil {
		*s = append(*s, stop)
	}
	return err
}

func (s *stack) stop() error {
	for _, stop := range slices.Backward(*s) {
		if err := stop(); err != nil {
			return err
		}
	}
	return nil
}

// clients installs our kinds on the control plane and returns clients of both clusters.
func clients(t *testing.T) (c, tc client.Client) {
	t.Helper()
	control.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	return control.Client(t, apis.AddToScheme), target.Client(t)
}

// start starts the built provider as an administrator of the control plane. At the end of the test it is killed, and if the test has
// failed its log is shown.
func start(t *testing.T) {
	t.Helper()
	binary, err := filepath.Abs(filepath.Join("..", "..", "..", "_output", "bin", "provider"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("cannot find the provider, run make build: %v", err)
	}
	p, err := provider.Start(provider.Options{
		Binary: binary, Dir: t.TempDir(), Kubeconfig: kube.Kubeconfig(t, asUser(t, &control)), Args: []string{"--debug"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if log := p.Log(); t.Failed() && log != "" {
			t.Logf("log of the provider ends with\n%s", log[max(0, len(log)-logTail):])
		}
	})
}

// asUser returns the configuration of the provider's user, who may do anything.
func asUser(t *testing.T, s *kube.Server) *rest.Config {
	t.Helper()
	return s.User(t, "provider", admins)
}
