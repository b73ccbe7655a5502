package workspace_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// widgets is an API as kcp's guide to exporting has it: the schema of a resource, and the export of it with a claim.
const widgets = `
apiVersion: apis.kcp.io/v1alpha1
kind: APIResourceSchema
metadata:
  name: v220801.widgets.example.kcp.dev
spec:
  group: example.kcp.dev
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Cluster
  versions:
  - name: v1alpha1
    schema:
      type: object
      properties:
        spec:
          type: object
          properties:
            size: {type: string}
    served: true
    storage: true
---
apiVersion: apis.kcp.io/v1alpha1
kind: APIExport
metadata:
  name: example.kcp.dev
spec:
  latestResourceSchemas:
  - v220801.widgets.example.kcp.dev
  permissionClaims:
  - group: ""
    resource: configmaps
    resourceSelector:
    - namespace: example-system
      name: my-setup
`

// binding binds that API, with a claim accepted.
const binding = `
apiVersion: apis.kcp.io/v1alpha1
kind: APIBinding
metadata:
  name: example.kcp.dev
spec:
  reference:
    export:
      path: PATH
      name: example.kcp.dev
  permissionClaims:
  - group: ""
    resource: configmaps
    resourceSelector:
    - namespace: example-system
      name: my-setup
    state: Accepted
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
				m := manifestOf(t, doc)
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

func manifestOf(t *testing.T, doc string) build.Manifest {
	t.Helper()
	m := build.Manifest{}
	if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatal(err)
	}
	return m
}
