package olm

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
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
	stopServer, err := target.WithNodes()(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "olm-")
	if err != nil {
		_ = stopServer()
		return nil, errors.Wrap(err, "cannot make folder of OLM")
	}
	olm, err := startOLM(ctx, dir, target.Config())
	if err != nil {
		_ = stopServer() // Why it did not start matters more than what else goes wrong.
		return nil, err
	}
	return func() error {
		return kerrors.NewAggregate([]error{olm.Stop(), stopServer(), os.RemoveAll(dir)})
	}, nil
}

// serve installs our kinds on a server and returns a client of it.
func serve(t *testing.T, s *kube.Server) client.Client {
	t.Helper()
	s.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
	return s.Client(t, apis.AddToScheme)
}

// start starts the provider as an administrator of a server.
func start(t *testing.T, s *kube.Server) {
	t.Helper()
	program.Start(t, asUser(t, s), provider.Options{Args: []string{"--debug"}})
}

// asUser returns the configuration of the provider's user, who may do anything.
func asUser(t *testing.T, s *kube.Server) *rest.Config {
	t.Helper()
	return s.User(t, "provider", admins)
}
