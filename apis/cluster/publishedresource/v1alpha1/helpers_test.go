package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

const source = "resource: {apiGroup: cert-manager.io, kind: Certificate}\n"

// published returns a PublishedResource with a spec in YAML.
func published(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	s := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatalf("%v:\n%s", err, spec)
	}
	return publishedAs(name, s)
}

// publishedAs returns a PublishedResource with a spec.
func publishedAs(name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(publishedv1alpha1.PublishedResourceGroupVersionKind)
	u.SetName(name)
	return u
}

// readCases reads a file of testdata.
func readCases(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err == nil {
		err = yaml.UnmarshalStrict(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// projection returns a spec with a projection.
func projection(fields string) string { return source + "projection: {" + fields + "}" }
