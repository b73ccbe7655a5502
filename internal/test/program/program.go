// Package program runs the provider in a test as users do: the program, and not only its controllers. It is for
// _test.go files only.
package program

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Start runs the provider as make build leaves it, or the program the options name, as a user of the control plane. At
// the end of the test it is killed, and if the test has failed its log is shown.
func Start(t testing.TB, cfg *rest.Config, o provider.Options) *provider.Process {
	t.Helper()
	if o.Binary == "" {
		o.Binary = Built(t)
	}
	o.Dir, o.Kubeconfig = t.TempDir(), kube.Kubeconfig(t, cfg)
	p, err := provider.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		kube.ShowLog(t, filepath.Base(o.Binary), p.Log())
	})
	return p
}

// AwaitReady waits until a program says that it is ready: its caches are filled.
func AwaitReady(t testing.TB, p *provider.Process) {
	t.Helper()
	kube.Eventually(t, "the program to be ready", func() (bool, string) {
		res, err := http.Get(p.Readyz()) //nolint:noctx // It is on this machine.
		if err != nil {
			return false, err.Error()
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK, res.Status
	})
}

// Series returns the value of each series that a program serves, by name and labels, none before it listens.
func Series(t testing.TB, p *provider.Process) map[string]float64 {
	t.Helper()
	all, err := p.Series(t.Context())
	if err != nil {
		t.Log(err)
	}
	return all
}

// AwaitEnd waits until a program has ended.
func AwaitEnd(t testing.TB, p *provider.Process) {
	t.Helper()
	kube.Eventually(t, "the end of the program", func() (bool, string) {
		select {
		case <-p.Exited():
			return true, ""
		default:
			return false, p.Log()
		}
	})
}

// Built returns the path of the built provider. It is beside the servers.
func Built(t testing.TB) string {
	t.Helper()
	bin, err := local.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(bin, "..", "..", "_output", "bin", "provider")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("cannot find the provider, run make build: %v", err)
	}
	return path
}
