package olm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
	soon   = 2 * time.Minute
	admins = "system:masters"
)

// Objects live on one cluster, and OLM works on another. Both collect garbage: the uses of ProviderConfigs, and what
// belongs to operators.
var (
	control = kube.Server{ControllerManager: true}
	target  = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &control, local.StartFunc(startTarget))) }

// startTarget starts the target with what makes an OLM work: nodes, its CustomResourceDefinitions, and a catalog of one
// operator.
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
	return serve(t, &control), target.Client(t)
}

// serve installs our kinds on a server and returns a client of it.
func serve(t *testing.T, s *kube.Server) client.Client {
	t.Helper()
	s.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	return s.Client(t, apis.AddToScheme)
}

// start starts the provider as an administrator of the control plane.
func start(t *testing.T) *provider.Process {
	t.Helper()
	return startOn(t, &control)
}

// startOn starts the provider as an administrator of a server.
func startOn(t *testing.T, s *kube.Server) *provider.Process {
	t.Helper()
	return program.Start(t, asUser(t, s), provider.Options{Args: []string{"--debug"}})
}

// asUser returns the configuration of the provider's user, who may do anything.
func asUser(t *testing.T, s *kube.Server) *rest.Config {
	t.Helper()
	return s.User(t, "provider", admins)
}
