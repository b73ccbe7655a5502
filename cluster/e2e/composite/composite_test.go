package composite

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/projection"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/crossplane"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }

// definitions are the folders of our CompositeResourceDefinitions.
var definitions = filepath.Join("..", "..", "..", "examples", "capabilities", "configurations")

// TestOffer shows that consumers see the fields of the author and the conditions of each type that Crossplane
// generates. All fields that a version of Crossplane adds are hidden.
func TestOffer(t *testing.T) {
	claims := []string{"networkings.capabilities.morningspace.io", "networkingclaims.capabilities.morningspace.io"}
	for name, tc := range map[string]struct {
		reason string
		start  func(context.Context, local.CrossplaneOptions) (*local.Crossplane, error)
		types  map[string][]string // by the folder of the definition
	}{
		"Crossplane2": {
			reason: "Composites have all that is Crossplane's in one field, but for those that are claimed.",
			start:  local.StartCrossplane,
			types: map[string][]string{
				"namespaced": {"networkings.capabilities.m.morningspace.io"}, "claims": claims,
			},
		},
		"Crossplane1": {
			reason: "Crossplane 1.20 has it beside the fields of the author.",
			start:  local.StartCrossplane1, types: map[string][]string{"claims": claims},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &kube.Server{ControllerManager: true}
			kube.StartServer(t, server)
			crossplane.Start(t, tc.start, server.Config())
			c := server.Client(t)
			for folder, types := range tc.types {
				define(t, c, filepath.Join(definitions, folder, "networking", "definition.yaml"))
				for _, of := range types {
					t.Run(of, func(t *testing.T) { wantAuthored(t, c, of, tc.reason) })
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
		err := c.Create(t.Context(), u)
		return err == nil, fmt.Sprint(err)
	})
}

// wantAuthored fails the test unless consumers see the fields of the author, the conditions, and the columns that show
// these, of a CustomResourceDefinition that Crossplane makes.
func wantAuthored(t *testing.T, c client.Client, of, reason string) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: build.Meta("", of)}
	kube.Await(t, c, crd, "type "+of, func() (bool, string) { return true, "" })
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
}
