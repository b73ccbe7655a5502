package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

const (
	// user is whom the provider is on both servers, unless a test says otherwise.
	user   = "provider-of-fleets"
	admins = "system:masters"
	// workers is how many requests of a test are under way at a time.
	workers = 20
)

// The local server has a garbage collector, which ends the use of ProviderConfigs by Objects that are gone.
var (
	local  = kube.Server{ControllerManager: true}
	target = kube.Server{Shared: "remote"}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// clients installs our kinds and returns clients of the control plane and of the target. At the end of the test it
// removes all that is of our kinds; it must come before the start of a provider, which then ends first.
func clients(t *testing.T) (c, tc client.Client) {
	t.Helper()
	local.InstallCRDs(t, filepath.Join("..", "..", "package", "crds"))
	c = local.Client(t, apis.AddToScheme)
	t.Cleanup(func() { wipe(t, c) })
	return c, target.Client(t)
}

// start starts the provider with flags, as an administrator of the control plane.
func start(t *testing.T, args ...string) *provider.Process {
	t.Helper()
	return program.Start(t, local.User(t, user, admins), provider.Options{Args: args})
}

// each calls f with 0 to n-1, several at a time, and returns an error if there was one.
func each(n int, f func(i int) error) error {
	g := errgroup.Group{}
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}
