package xpkg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

// Crossplane works on one cluster, and Objects keep their resources on the other.
var (
	control = kube.Server{ControllerManager: true}
	target  kube.Server
	// workspaces are where APIs are published to.
	workspaces kcp.Server
)

// host is the address of the registry, as names of images begin with it.
var host string

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // envtest logs what it installs.
	os.Exit(kube.Run(m, local.StartFunc(startRegistry), startControl(&control, local.StartCrossplane), &target,
		&workspaces))
}

func startRegistry(context.Context) (stop func() error, err error) {
	var end func()
	host, end = oci.StartRegistry()
	return func() error { end(); return nil }, nil
}

// A startCrossplane starts one of the versions of Crossplane.
type startCrossplane func(context.Context, local.CrossplaneOptions) (*local.Crossplane, error)

// startControl returns what starts a control plane, with Crossplane and nodes that play pods.
func startControl(server *kube.Server, start startCrossplane) local.StartFunc {
	return func(ctx context.Context) (stop func() error, err error) { return startControlPlane(ctx, server, start) }
}

func startControlPlane(ctx context.Context, server *kube.Server, start startCrossplane,
) (stop func() error, err error) {
	stopServer, err := server.Start(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "crossplane-")
	if err != nil {
		_ = stopServer()
		return nil, errors.Wrap(err, "cannot make folder of Crossplane")
	}
	cfg := server.Config()
	stopRest, err := local.StartAll(ctx,
		local.StartFunc(func(ctx context.Context) (func() error, error) {
			n, err := local.StartNodes(ctx, local.NodesOptions{Dir: filepath.Join(dir, "nodes"), Config: cfg})
			if err != nil {
				return nil, err
			}
			return n.Stop, nil
		}),
		local.StartFunc(func(ctx context.Context) (func() error, error) {
			x, err := start(ctx,
				local.CrossplaneOptions{Dir: filepath.Join(dir, "crossplane"), Config: cfg})
			if err != nil {
				return nil, err
			}
			return x.Stop, nil
		}))
	if err != nil {
		_ = stopServer()
		return nil, err
	}
	return func() error {
		for _, stop := range []func() error{stopRest, stopServer, func() error { return os.RemoveAll(dir) }} {
			if err := stop(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// registry is the REGISTRY of the guides.
func registry() string { return host + "/crossplane-contrib" }

// push builds the package in a version, pushes it, and returns its name in the registry.
func push(t *testing.T, version string) string {
	t.Helper()
	release := exec.Command("make", "--no-print-directory", "xpkg.push", "ARCHES="+runtime.GOARCH,
		"REGISTRY="+registry(), "VERSION="+version, "XPKG="+t.TempDir())
	release.Dir = filepath.Join("..", "..", "..")
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("cannot push package: %v\n%s", err, out)
	}
	return registry() + "/provider-kcp:" + version
}
