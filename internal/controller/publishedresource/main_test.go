package publishedresource_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// user is whom the provider is on the control plane, which is the service cluster of most tests.
const user = "provider-of-publications"

var (
	local      kube.Server
	service    = kube.Server{Shared: "remote"}
	workspaces = kcp.Server{Audited: true}
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &service, &workspaces)) }

var startProvider sync.Once

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	startProvider.Do(func() {
		local.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
		provider.Start(t, local.User(t, user, "system:masters"))
	})
	return local.Client(t, apis.AddToScheme)
}
