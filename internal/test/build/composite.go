package build

import (
	"strings"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	compositev1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Scopes of composite resources.
const (
	ScopeNamespaced = compositev1.CompositeResourceScopeNamespaced
	ScopeCluster    = compositev1.CompositeResourceScopeCluster
	ScopeLegacy     = compositev1.CompositeResourceScopeLegacyCluster
)

// compositeDefinition returns a CompositeResourceDefinition with one version, v1, of a schema in YAML.
func compositeDefinition(t *testing.T, group, plural, schema string,
	scope compositev1.CompositeResourceScope,
) *compositev1.CompositeResourceDefinition {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(schema))
	if err != nil {
		t.Fatalf("%v:\n%s", err, schema)
	}
	kind := Kind(plural)
	d := &compositev1.CompositeResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group, UID: "8f4b4e3c-5b0e-4b7e-9d0c-0e4a8f3f7a11"},
		Spec: compositev1.CompositeResourceDefinitionSpec{
			Group: group, Scope: &scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
			},
			DefaultCompositionUpdatePolicy: new(xpv2.UpdateAutomatic),
			DefaultCompositeDeletePolicy:   new(xpv2.CompositeDeleteBackground),
			Versions: []compositev1.CompositeResourceDefinitionVersion{{
				Name: "v1", Served: true, Referenceable: true,
				Schema: &compositev1.CompositeResourceValidation{OpenAPIV3Schema: runtime.RawExtension{Raw: raw}},
			}},
		},
	}
	return d
}

// Composite returns the CustomResourceDefinition that Crossplane makes for composite resources with a schema in YAML.
func Composite(t *testing.T, group, plural, schema string,
	scope compositev1.CompositeResourceScope,
) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d, err := xcrd.ForCompositeResource(compositeDefinition(t, group, plural, schema, scope))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Claim returns the CustomResourceDefinition that Crossplane makes for claims. The kind of the composite resources
// begins with X.
func Claim(t *testing.T, group, plural, schema string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	of := compositeDefinition(t, group, "x"+plural, schema, ScopeLegacy)
	kind := Kind(plural)
	of.Spec.ClaimNames = &apiextensionsv1.CustomResourceDefinitionNames{
		Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
	}
	d, err := xcrd.ForCompositeResourceClaim(of)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
