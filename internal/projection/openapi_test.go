package projection

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// things returns what a file says of Things: their schema in OpenAPI, or the definition that is made of it.
func things(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "openapi", file))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func builtIn(t *testing.T, version, described string) BuiltIn {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(described))
	if err != nil {
		t.Fatal(err)
	}
	return BuiltIn{Version: version, Schema: content, Resources: []metav1.APIResource{
		{Name: "things", Kind: "Thing", Namespaced: true, ShortNames: []string{"th"}, Categories: []string{"all"}},
		{Name: "things/status", Kind: "Thing", Namespaced: true},
		{Name: "things/scale", Kind: "Scale", Namespaced: true},
	}}
}

func TestFromOpenAPI(t *testing.T) {
	got, err := FromOpenAPI(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "v1",
		builtIn(t, "v1", string(things(t, "schema.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	want := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(things(t, "definition.yaml"), want); err != nil {
		t.Fatal(err)
	}
	want.SetName("things.example.com")
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	p, err := Project(got, specOf(publishedv1alpha1.SourceResource{}, nil))
	if err != nil || len(p.Repairs) > 0 {
		t.Errorf("what is made of OpenAPI needs no repair, got %v: %v", p.Repairs, err)
	}
}

// TestFromOpenAPIVersions shows which versions a built-in type has, the one that is stored last, and why it has none.
func TestFromOpenAPIVersions(t *testing.T) {
	v1, v1beta1 := builtIn(t, "v1", "{type: object}"), builtIn(t, "v1beta1", "{type: object}")
	undescribed, unread := v1, v1
	undescribed.Schema, unread.Schema = nil, []byte("<html>")
	for reason, tc := range map[string]struct {
		kind     string // Thing by default
		versions []BuiltIn
		want     []string
		fails    Reason // none if it may be readable the next time
	}{
		"The preferred version stores.": {
			versions: []BuiltIn{v1, v1beta1}, want: []string{"v1beta1", "v1", "v1beta1"},
		},
		"A type must be described.":     {versions: []BuiltIn{undescribed}, fails: NotServed},
		"A type must be served.":        {kind: "Other", versions: []BuiltIn{v1}, fails: NotServed},
		"A schema may become readable.": {versions: []BuiltIn{unread}},
	} {
		kind := schema.GroupKind{Group: "example.com", Kind: cmp.Or(tc.kind, "Thing")}
		crd, err := FromOpenAPI(kind, "v1beta1", tc.versions...)
		var got []string
		if err == nil {
			for _, v := range crd.Spec.Versions {
				got = append(got, v.Name)
			}
			stored, _ := apihelpers.GetCRDStorageVersion(crd)
			got = append(got, stored)
		}
		if diff := gocmp.Diff(tc.want, got); diff != "" || ReasonOf(err) != tc.fails || (err == nil) != (tc.want != nil) {
			t.Errorf("%s %v\n-want, +got:\n%s", reason, err, diff)
		}
	}
}
