package projection

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// version returns a version that is served, with a schema in YAML.
func versionOf(t *testing.T, name, schema string) apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	return apiextensionsv1.CustomResourceDefinitionVersion{
		Name: name, Served: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: parseSchema(t, schema)},
	}
}

func parseSchema(t *testing.T, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.Unmarshal([]byte(text), s); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return s
}

// widgets returns a CustomResourceDefinition with versions. One of them is the storage version.
func widgets(t *testing.T, storage string, names ...string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: "widgets.example.com", Generation: 7, Annotations: map[string]string{"some": "note"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList",
				ShortNames: []string{"wd"}, Categories: []string{"all"},
			},
		},
	}
	for _, name := range names {
		v := versionOf(t, name, "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}")
		v.Storage = name == storage
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	return crd
}

// certificates returns the CustomResourceDefinition of cert-manager's Certificate.
func certificates(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "certificates.cert-manager.io.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// specOf returns a spec with a resource and a projection.
func specOf(r publishedv1alpha1.SourceResource,
	p *publishedv1alpha1.ResourceProjection,
) *publishedv1alpha1.PublishedResourceSpec {
	return &publishedv1alpha1.PublishedResourceSpec{Resource: r, Projection: p}
}

// mustProject projects all versions of a definition.
func mustProject(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition,
	to *publishedv1alpha1.ResourceProjection,
) *Projection {
	t.Helper()
	p, err := Project(crd, specOf(publishedv1alpha1.SourceResource{}, to))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
