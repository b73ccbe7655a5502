// Package workspace_test shows that Objects are kept in workspaces of a real kcp.
package workspace_test

import (
	"os"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

var (
	local      kube.Server
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &workspaces)) }

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	return provider.Once(t, &local, "../../../../package/crds")
}

// TestWorkspacePath shows that one kubeconfig and a workspace path each reach different workspaces, in both scopes,
// and that an Object in one waits for what an Object keeps in the other.
func TestWorkspacePath(t *testing.T) {
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			ns := local.Namespace(t)
			kube.Create(t, c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, workspaces.Config("root"))))
			path, cfg := workspaces.Workspace(t)
			other, otherCfg := workspaces.Workspace(t)
			o := keep(t, c, s, ns, ns+"-one", path)
			keep(t, c, s, ns, ns+"-two", other)

			in, inOther := kcp.Client(t, cfg), kcp.Client(t, otherCfg)
			awaitData(t, in, map[string]string{"workspace": path})
			awaitData(t, inOther, map[string]string{"workspace": other})

			// What an Object waits for may be in another workspace.
			waits := s.Object(ns, ns+"-waits", ns+"-two", build.ConfigMap("default", "waits"))
			waits.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{
				Name: o.GetName(), WaitFor: commonv1.WaitForHealthy,
				CelQuery: "object.status.atProvider.manifest.data.workspace == '" + path + "'",
			}}}
			kube.Create(t, c, waits)
			provider.AwaitReady(t, c, waits)
			kube.Remove(t, c, waits)

			// Drift in a workspace is reverted by watch.
			cm := &corev1.ConfigMap{ObjectMeta: build.Meta("default", "settings")}
			kube.Delete(t, in, cm)
			awaitData(t, in, map[string]string{"workspace": path})

			kube.Delete(t, c, o)
			kube.AwaitGone(t, in, cm)
			awaitData(t, inOther, map[string]string{"workspace": other})
		})
	}
}

// TestWorkspaceMadeAgain shows that a workspace which is deleted, and made again by the same path, gets what is to be
// there, and is looked after.
func TestWorkspaceMadeAgain(t *testing.T) {
	c, s := provide(t), build.Cluster()
	ns := local.Namespace(t)
	path := "root:" + ns
	kube.Create(t, c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, workspaces.Config("root"))))
	workspaces.WorkspaceAt(t, path)
	keep(t, c, s, ns, ns, path)
	kube.Eventually(t, "the workspace to be gone", workspaces.DeleteWorkspace(t, path))

	in, want := kcp.Client(t, workspaces.WorkspaceAt(t, path)), map[string]string{"workspace": path}
	awaitData(t, in, want)
	kube.Delete(t, in, &corev1.ConfigMap{ObjectMeta: build.Meta("default", "settings")})
	awaitData(t, in, want)
}

// connect makes a ProviderConfig for a workspace.
func connect(t *testing.T, c client.Client, s build.Scope, ns, name, path string) client.Object {
	t.Helper()
	spec := build.FromSecret(ns, "kcp")
	spec.KCP = &commonv1.KCPConnection{WorkspacePath: path}
	config := s.Config(ns, name, spec)
	kube.Create(t, c, config)
	return config
}

// keep makes a ProviderConfig for a workspace and an Object in it, and waits until that is ready.
func keep(t *testing.T, c client.Client, s build.Scope, ns, name, path string) build.Object {
	t.Helper()
	connect(t, c, s, ns, name, path)
	o := s.Object(ns, name, name, build.ConfigMap("default", "settings", "workspace", path))
	kube.Create(t, c, o)
	provider.AwaitReady(t, c, o)
	return o
}

// awaitData waits until the ConfigMap of a test has some data.
func awaitData(t *testing.T, c client.Client, want map[string]string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta("default", "settings")}
	kube.Await(t, c, cm, "the ConfigMap", func() (bool, string) {
		return cmp.Equal(cm.Data, want), cmp.Diff(want, cm.Data)
	})
}

// TestMissingWorkspace shows that an Object for a workspace that does not exist says so, and is kept when its
// ProviderConfig names another.
func TestMissingWorkspace(t *testing.T) {
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			ns := local.Namespace(t)
			pc := connect(t, c, s, ns, ns, "root:none-such")
			o := s.Object(ns, ns, ns, build.ConfigMap("default", "settings"))
			kube.Create(t, c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, workspaces.Config("root"))), o)
			kube.Await(t, c, o, "the Object to say that there is no such workspace", func() (bool, string) {
				message := o.GetCondition(xpv2.TypeSynced).Message
				return strings.Contains(message, `workspaces.tenancy.kcp.io "root:none-such" not found`),
					message
			})
			path, _ := workspaces.Workspace(t)
			kube.Patch(t, c, pc, `{"spec":{"kcp":{"workspacePath":"`+path+`"}}}`)
			provider.AwaitReady(t, c, o)
		})
	}
}
