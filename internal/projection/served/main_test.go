// Package served_test shows that a real kcp accepts and serves what is projected, of definitions and of types that a
// real service cluster has built in.
package served_test

import (
	"encoding/json"
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var (
	service    = kube.Server{Shared: "remote"}
	workspaces kcp.Server
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &service, &workspaces)) }

// definition returns the CustomResourceDefinition in a YAML.
func definition(t *testing.T, content []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, crd); err != nil {
		t.Fatalf("%v:\n%s", err, content)
	}
	return crd
}

// parse returns the resource in a YAML.
func parse(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	b, err := yaml.YAMLToJSONStrict([]byte(content))
	if err == nil {
		err = u.UnmarshalJSON(b)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, content)
	}
	return u
}

// builtIn returns the definition of a type that the service cluster has built in.
func builtIn(t *testing.T, gk schema.GroupKind, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(service.Config())
	if err != nil {
		t.Fatal(err)
	}
	var in []projection.BuiltIn
	for _, v := range versions {
		gv := schema.GroupVersion{Group: gk.Group, Version: v}
		list, err := d.ServerResourcesForGroupVersion(gv.String())
		if err != nil {
			t.Fatal(err)
		}
		described, err := (&resolver.ClientDiscoveryResolver{Discovery: d}).ResolveSchema(gv.WithKind(gk.Kind))
		if err != nil {
			t.Fatal(err)
		}
		content, err := json.Marshal(described)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, projection.BuiltIn{Version: v, Resources: list.APIResources, Schema: content})
	}
	crd, err := projection.FromOpenAPI(gk, versions[0], in...)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// project projects all versions of a definition.
func project(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition,
	to *publishedv1alpha1.ResourceProjection,
) *projection.Projection {
	t.Helper()
	p, err := projection.Project(crd, &publishedv1alpha1.PublishedResourceSpec{Projection: to})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// publish makes schemas and one APIExport of them, binds that in another workspace, and returns clients of that.
func publish(t *testing.T, projections ...*projection.Projection) (client.Client, discovery.DiscoveryInterface) {
	t.Helper()
	path, cfg := workspaces.Workspace(t)
	provider, export := kcp.Client(t, cfg), kcp.Export("things")
	for _, p := range projections {
		s, err := p.Schema("agent")
		if err != nil {
			t.Fatal(err)
		}
		if err := provider.Create(t.Context(), s); err != nil {
			t.Fatalf("kcp rejects the schema: %v", err)
		}
		export.Spec.Resources = append(export.Spec.Resources, kcp.Offer(s.Spec.Group, s.Spec.Names.Plural, s.GetName()))
	}
	kube.Create(t, provider, export)
	_, cfg = workspaces.Workspace(t)
	kcp.AwaitBound(t, cfg, kcp.Bind(t, cfg, path, export.GetName()))
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return kcp.Client(t, cfg), d
}

// served returns what discovery says of the kind of a projection, of one of its versions.
func served(t *testing.T, d discovery.DiscoveryInterface, p *projection.Projection, version string) metav1.APIResource {
	t.Helper()
	var out metav1.APIResource
	gv := schema.GroupVersion{Group: p.Resource().Group, Version: version}
	kube.Eventually(t, "the API to be served", func() (bool, string) {
		list, err := d.ServerResourcesForGroupVersion(gv.String())
		if err != nil {
			return false, err.Error()
		}
		for _, r := range list.APIResources {
			if r.Name == p.Resource().Resource {
				out = r
				return true, ""
			}
		}
		return false, "not in the list"
	})
	return out
}
