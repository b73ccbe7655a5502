package xpkg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kubelet"
	"github.com/crossplane-contrib/provider-kcp/internal/test/oci"
)

const admins = "system:masters"

var (
	target kube.Server
	// workspaces are where APIs are published to.
	workspaces kcp.Server
	// images is where packages are pushed to.
	images oci.Registry
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // envtest logs what it installs.
	os.Exit(kube.Run(m, &images, &target, &workspaces))
}

// A stage is an installation that the steps of a test go through in turn.
type stage struct {
	control *kube.Server
	c, tc   client.Client // of the control plane and of the target
	kubelet *kubelet.Kubelet
	shell   guide.Shell // beside the examples, with a kubeconfig of an administrator of the control plane
	ns      string      // on both, for all steps
}

// newStage starts a control plane with a version of Crossplane and nodes that play pods.
func newStage(
	t *testing.T, version func(context.Context, local.CrossplaneOptions) (*local.Crossplane, error),
) *stage {
	t.Helper()
	server := &kube.Server{ControllerManager: true}
	kube.StartServer(t, server.WithNodes())
	crossplane.Start(t, version, server.Config())
	s := &stage{
		control: server, c: server.Client(t, apis.AddToScheme), tc: target.Client(t), ns: target.Namespace(t),
		kubelet: kubelet.Start(t, server, local.CrossplaneNamespace),
		shell:   guide.NewShell(t, server.Config(), filepath.Join(top, "examples"), filepath.Join(top, "package")),
	}
	s.shell.Env = append(s.shell.Env, "REGISTRY="+registry())
	kube.Create(t, s.c, &corev1.Namespace{ObjectMeta: build.Meta("", s.ns)})
	return s
}

// keepKubeconfig makes the Secret that ProviderConfigs of the target name, and returns their spec.
func (s *stage) keepKubeconfig(t *testing.T) commonv1.ProviderConfigSpec {
	t.Helper()
	kube.Create(t, s.c, build.Credentials(s.ns, "target", kube.Kubeconfig(t, target.User(t, "provider", admins))))
	return build.FromSecret(s.ns, "target")
}

// registry is the REGISTRY of the guides.
func registry() string { return images.Host + "/crossplane-contrib" }

// push builds the package in a version, pushes it, and returns its name in the registry.
func push(t *testing.T, version string) string {
	t.Helper()
	release := exec.Command("make", "--no-print-directory", "xpkg.push", "ARCHES="+runtime.GOARCH,
		"REGISTRY="+registry(), "VERSION="+version, "XPKG="+t.TempDir())
	release.Dir = top
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("cannot push package: %v\n%s", err, out)
	}
	return registry() + "/provider-kcp:" + version
}
