package composite

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// definitions are the folders of our CompositeResourceDefinitions.
var definitions = filepath.Join("..", "..", "..", "examples", "capabilities", "configurations")

// TestOffer shows that consumers see the fields of the author and the conditions of each type that Crossplane
// generates. All fields that a version of Crossplane adds are hidden.
func TestOffer(t *testing.T) {
	claims := []string{"networkings.capabilities.morningspace.io", "networkingclaims.capabilities.morningspace.io"}
	for name, tc := range map[string]struct {
		reason string
		server *kube.Server
		start  func(context.Context, local.CrossplaneOptions) (*local.Crossplane, error)
		types  map[string][]string // by the folder of the definition
	}{
		"Crossplane2": {
			reason: "Composites have all that is Crossplane's in one field, but for those that are claimed.",
			server: &modern, start: local.StartCrossplane,
			types: map[string][]string{
				"namespaced": {"networkings.capabilities.m.morningspace.io"}, "claims": claims,
			},
		},
		"Crossplane1": {
			reason: "Crossplane 1.20 has it beside the fields of the author.",
			server: &former, start: local.StartCrossplane1, types: map[string][]string{"claims": claims},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := tc.start(t.Context(), local.CrossplaneOptions{Dir: t.TempDir(), Config: tc.server.Config()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := x.Stop(); err != nil {
					t.Error(err)
				}
			}()
			c := tc.server.Client(t, apiextensionsv1.AddToScheme)
			for folder, types := range tc.types {
				define(t, c, filepath.Join(definitions, folder, "networking", "definition.yaml"))
				for _, of := range types {
					t.Run(of, func(t *testing.T) { wantAuthored(t, made(t, c, of), tc.reason) })
				}
			}
		})
	}
}

// define creates a CompositeResourceDefinition.
func define(t *testing.T, c client.Client, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(content, &u.Object); err != nil {
		t.Fatal(err)
	}
	kube.Eventually(t, "creation of "+u.GetName(), func() (bool, string) {
		if err := c.Create(t.Context(), u); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

// made waits for a CustomResourceDefinition that Crossplane makes.
func made(t *testing.T, c client.Client, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	kube.Eventually(t, "type "+name, func() (bool, string) {
		if err := c.Get(t.Context(), types.NamespacedName{Name: name}, crd); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
	return crd
}

// wantAuthored fails the test unless consumers see the fields of the author, the conditions, and the columns that show
// these.
func wantAuthored(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, reason string) {
	t.Helper()
	p, err := projection.Project(crd, &v1alpha1.PublishedResourceSpec{})
	if err != nil {
		t.Fatal(err)
	}
	fields := func(s apiextensionsv1.JSONSchemaProps) []string { return slices.Sorted(maps.Keys(s.Properties)) }
	v := p.CRD.Spec.Versions[0]
	got := map[string][]string{
		"spec":    fields(v.Schema.OpenAPIV3Schema.Properties["spec"]),
		"status":  fields(v.Schema.OpenAPIV3Schema.Properties["status"]),
		"repairs": p.Repairs,
	}
	for _, column := range v.AdditionalPrinterColumns {
		if strings.HasPrefix(column.JSONPath, ".spec") {
			got["columns"] = append(got["columns"], column.Name)
		}
	}
	want := map[string][]string{"spec": {"parameters"}, "status": {"conditions"}, "repairs": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
	t.Logf("left to the platform: %s", strings.Join(p.PlatformFields, " "))
}
