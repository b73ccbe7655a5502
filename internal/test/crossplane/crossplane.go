// Package crossplane runs a real Crossplane in a test, with the functions of the Compositions in examples/: auto-ready
// is the real one, in a process of its own; of patch-and-transform and status-transformer there is as much as the
// examples use. It is for _test.go files only, and needs the tools of make tools.e2e.
package crossplane

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
const soon = 2 * time.Minute

// Start runs a Crossplane of a version until the test ends, for a cluster with a controller manager.
func Start(
	t testing.TB, version func(context.Context, local.CrossplaneOptions) (*local.Crossplane, error), cfg *rest.Config,
) {
	t.Helper()
	x, err := version(t.Context(), local.CrossplaneOptions{Dir: t.TempDir(), Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Stop(); err != nil {
			t.Error(err)
		}
		kube.ShowLog(t, "Crossplane", x.Log())
	})
}

// StartRegistry runs a registry until the test ends, and returns its address.
func StartRegistry(t testing.TB) string {
	t.Helper()
	r := &oci.Registry{}
	kube.StartServer(t, r)
	return r.Host
}
