package workspace_test

import (
	"strings"
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

// widgets is an API as kcp's guide to exporting has it, with the schema that is left out there: the schema of a
// resource, the export of it with claims and with a bound on what consumers may do, and the rules that are that bound.
const widgets = `
apiVersion: apis.kcp.io/v1alpha1
kind: APIResourceSchema
metadata:
  name: v220801.widgets.example.kcp.dev
spec:
  group: example.kcp.dev
  names:
    categories:
    - kcp
    kind: Widget
    listKind: WidgetList
    plural: widgets
    singular: widget
  scope: Cluster
  versions:
  - additionalPrinterColumns:
    - description: The current phase
      jsonPath: .status.phase
      name: Phase
      type: string
    - jsonPath: .metadata.creationTimestamp
      name: Age
      type: date
    name: v1alpha1
    schema:
      type: object
      properties:
        spec:
          type: object
          properties:
            size: {type: string}
        status:
          type: object
          properties:
            phase: {type: string}
    served: true
    storage: true
    subresources:
      status: {}
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
  - group: somegroup.kcp.io
    resource: things
    identityHash: 5fdf7c7aaf407fd1594566869803f565bb84d22156cef5c445d2ee13ac2cfca6
    all: true
  maximalPermissionPolicy:
    local: {}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: system:kcp:apiexport:example:maximal-permission-policy
rules:
- apiGroups: ["example.kcp.dev"]
  verbs: ["*"]
  resources:
  - widgets
- apiGroups: ["example.kcp.dev"]
  verbs: ["list", "watch", "get"]
  resources:
  - widgets/status
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: system:kcp:authenticated:apiexport:example:maximal-permission-policy
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: system:kcp:apiexport:example:maximal-permission-policy
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: apis.kcp.io:binding:system:authenticated
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

// TestExports shows that Objects keep an API that is exported from one workspace and bound in another, in both scopes,
// and that the bound on what consumers may do holds for one who may do everything in the workspace.
func TestExports(t *testing.T) {
	c := provide(t)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			ns := local.Namespace(t)
			kube.Create(t, c, build.Credentials(ns, "kcp", kube.Kubeconfig(t, workspaces.Config("root"))))
			exporter, _ := workspaces.Workspace(t)
			consumer, in := workspaces.Workspace(t)
			var kept []build.Object
			for name, path := range map[string]string{ns + "-exporter": exporter, ns + "-consumer": consumer} {
				spec := build.FromSecret(ns, "kcp")
				spec.KCP = &commonv1.KCPConnection{WorkspacePath: path}
				kube.Create(t, c, s.Config(ns, name, spec))
			}
			for doc := range strings.SplitSeq(widgets, "\n---\n") {
				kept = append(kept, keepManifest(t, c, s, ns+"-exporter", manifestOf(t, doc)))
			}
			kept = append(kept, keepManifest(t, c, s, ns+"-consumer",
				manifestOf(t, strings.ReplaceAll(binding, "PATH", exporter))))
			for _, o := range kept {
				provider.AwaitReady(t, c, o)
			}
			b := &apisv1alpha1.APIBinding{}
			kube.Eventually(t, "the binding to be bound", func() (bool, string) {
				err := kcp.Client(t, in).Get(t.Context(), client.ObjectKey{Name: "example.kcp.dev"}, b)
				return err == nil && b.Status.Phase == apisv1alpha1.APIBindingPhaseBound, string(b.Status.Phase)
			})
			boundHolds(t, in)
		})
	}
}

// boundHolds checks what a consumer may do with widgets who may do everything in a workspace.
func boundHolds(t *testing.T, in *rest.Config) {
	t.Helper()
	all := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	user := kcp.Client(t, kcp.ServiceAccount(t, in, "unicorn", all))
	w := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.kcp.dev/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": "magic"},
		"spec": map[string]any{"size": "L"},
	}}
	kube.Eventually(t, "the consumer to create a Widget", func() (bool, string) {
		err := user.Create(t.Context(), w)
		if err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	w.Object["spec"] = map[string]any{"size": "M"}
	if err := user.Update(t.Context(), w); err != nil {
		t.Errorf("the consumer may change a Widget: %v", err)
	}
	w.Object["status"] = map[string]any{"phase": "mine"}
	if err := user.Status().Update(t.Context(), w); !apierrors.IsForbidden(err) {
		t.Errorf("the consumer must not change the status of a Widget, got %v", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}}
	if err := user.Create(t.Context(), cm); err != nil {
		t.Errorf("the bound must hold for Widgets only: %v", err)
	}
	if err := kcp.Client(t, in).Status().Update(t.Context(), w); !apierrors.IsForbidden(err) {
		t.Errorf("the bound holds for administrators of the workspace, too, got %v", err)
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

// keepManifest makes an Object that keeps a manifest on the target of a ProviderConfig.
func keepManifest(t *testing.T, c client.Client, s build.Scope, config string, m build.Manifest) build.Object {
	t.Helper()
	u := unstructured.Unstructured{Object: m}
	ns := strings.TrimSuffix(strings.TrimSuffix(config, "-exporter"), "-consumer")
	o := s.Object(ns, config+"-"+strings.ToLower(u.GetKind()), config, m)
	kube.Create(t, c, o)
	return o
}
