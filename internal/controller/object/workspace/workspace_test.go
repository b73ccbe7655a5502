// Package workspace_test shows that Objects are kept in workspaces of a real kcp.
package workspace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

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

// TestWorkspacePath shows that one kubeconfig and a workspace path each reach different workspaces, in both scopes.
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

// widgets is an API as kcp's guide to exporting has it: the schema of a resource, and the export of it with a claim.
const widgets = `
apiVersion: apis.kcp.io/v1alpha1
kind: APIResourceSchema
metadata: {name: v220801.widgets.example.kcp.dev}
spec:
  group: example.kcp.dev
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Cluster
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {type: object}}
---
apiVersion: apis.kcp.io/v1alpha1
kind: APIExport
metadata: {name: example.kcp.dev}
spec:
  latestResourceSchemas: [v220801.widgets.example.kcp.dev]
  permissionClaims:
  - {group: "", resource: configmaps, resourceSelector: [{namespace: example-system, name: my-setup}]}
`

// binding binds that API, with a claim accepted.
const binding = `
apiVersion: apis.kcp.io/v1alpha1
kind: APIBinding
metadata: {name: example.kcp.dev}
spec:
  reference: {export: {path: PATH, name: example.kcp.dev}}
  permissionClaims:
  - {group: "", resource: configmaps, state: Accepted,
     resourceSelector: [{namespace: example-system, name: my-setup}]}
`

// TestExports shows that Objects keep an API that is exported from one workspace and bound in another, in both scopes.
func TestExports(t *testing.T) {
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			ns := local.Namespace(t)
			kube.Create(t, c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, workspaces.Config("root"))))
			exporter, _ := workspaces.Workspace(t)
			consumer, in := workspaces.Workspace(t)
			connect(t, c, s, ns, ns+"-exporter", exporter)
			connect(t, c, s, ns, ns+"-consumer", consumer)
			var kept []build.Object
			keep := func(config, doc string) {
				m := build.Manifest{}
				if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
					t.Fatal(err)
				}
				kept = append(kept, s.Object(ns, config+"-"+strings.ToLower(m["kind"].(string)), config, m))
				kube.Create(t, c, kept[len(kept)-1])
			}
			for doc := range strings.SplitSeq(widgets, "\n---\n") {
				keep(ns+"-exporter", doc)
			}
			keep(ns+"-consumer", strings.ReplaceAll(binding, "PATH", exporter))
			for _, o := range kept {
				provider.AwaitReady(t, c, o)
			}
			w := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.kcp.dev/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "magic"},
			}}
			kube.Eventually(t, "the consumer to create a Widget", func() (bool, string) {
				err := kcp.Client(t, in).Create(t.Context(), w)
				return err == nil, fmt.Sprint(err)
			})
		})
	}
}
