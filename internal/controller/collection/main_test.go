package collection_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	// user is whom the provider is on both servers.
	user = "provider-of-collections"
	// admins is the group that may do everything.
	admins = "system:masters"
)

// The local server has a garbage collector, by which members go with their collection.
var (
	local  = kube.Server{ControllerManager: true}
	target = kube.Server{Shared: "remote"}
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

// A world is what most tests need: a scope, its ProviderConfig for the target, and a namespace on each server.
type world struct {
	c, tc client.Client // of the control plane and of the target
	scope build.CollectionScope
	ns    string // on the control plane, also the name of the ProviderConfig
	tns   string // on the target, also the name of the collection
}

// forScopes runs a test for both scopes.
func forScopes(t *testing.T, f func(*testing.T, world)) {
	t.Helper()
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) { f(t, newWorld(t, s)) })
	}
}

// forScopesBeside is forScopes for a test that mostly waits, and neither counts requests nor stops a server: it runs
// beside others of its kind, once all other tests are over.
func forScopesBeside(t *testing.T, f func(*testing.T, world)) {
	t.Helper()
	t.Parallel()
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f(t, newWorld(t, s))
		})
	}
}

// newWorld returns a world of its own for each test.
func newWorld(t *testing.T, s build.CollectionScope) world {
	t.Helper()
	w := world{c: provide(t), tc: target.Client(t), scope: s, ns: local.Namespace(t), tns: target.Namespace(t)}
	return connect(t, w, target.User(t, user, admins))
}

// connect makes the ProviderConfig of a world, which reaches the target as a user.
func connect(t *testing.T, w world, cfg *rest.Config) world {
	t.Helper()
	kube.Create(t, w.c, build.Credentials(w.ns, "credentials", kube.Kubeconfig(t, cfg)),
		w.scope.Config(w.ns, w.ns, build.FromSecret(w.ns, "credentials")))
	return w
}
