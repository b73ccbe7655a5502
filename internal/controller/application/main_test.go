package application_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	// user is whom the provider is on both servers.
	user = "provider"
	// admins is the group that may do everything.
	admins = "system:masters"
)

// Both servers have a garbage collector: the deletions of applications and of namespaces are part of what is tested.
var (
	local  = kube.Server{ControllerManager: true}
	target = kube.Server{ControllerManager: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

var startProvider sync.Once

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	startProvider.Do(func() {
		local.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
		provider.Start(t, local.User(t, user, admins))
	})
	return local.Client(t, apis.AddToScheme)
}

// A world is what most tests need: a namespace on each server, and a ProviderConfig for the target.
type world struct {
	c, tc client.Client // of the control plane and of the target
	ns    string        // on the control plane, also the name of the ProviderConfig and the value of its label tier
	tns   string        // on the target
}

// newWorld returns a world of its own for each test.
func newWorld(t *testing.T) world {
	t.Helper()
	w := unconnected(t)
	w.connect(t, w.ns, good(t))
	return w
}
