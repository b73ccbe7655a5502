package apis_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestShortNames shows that each kind has a short name that no other kind has: kubectl takes one of two kinds of one
// short name by chance.
func TestShortNames(t *testing.T) {
	taken := map[string]string{}
	for _, d := range definitions(t) {
		if len(d.Spec.Names.ShortNames) == 0 {
			t.Errorf("%s: want a short name, got none", d.Name)
		}
		for _, n := range d.Spec.Names.ShortNames {
			if other, ok := taken[n]; ok {
				t.Errorf("%s and %s have the short name %q", other, d.Name, n)
			}
			taken[n] = d.Name
		}
	}
}

// TestColumns shows that kubectl get -o wide tells why something is not as it should be, for each kind
// that has conditions.
func TestColumns(t *testing.T) {
	for _, d := range definitions(t) {
		for _, v := range d.Spec.Versions {
			if _, ok := v.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]; !ok ||
				isProviderConfig(d) {
				continue
			}
			for _, name := range []string{"REASON", "MESSAGE"} {
				if !slices.ContainsFunc(v.AdditionalPrinterColumns,
					func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == name }) {
					t.Errorf("%s %s: want a column %s, got none", d.Name, v.Name, name)
				}
			}
		}
	}
}

// isProviderConfig reports whether a kind inherits conditions that nothing sets.
func isProviderConfig(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d.Spec.Names.Kind == "ProviderConfig" || d.Spec.Names.Kind == "ClusterProviderConfig"
}

// definitions returns the CustomResourceDefinitions of the package.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "package", "crds", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("cannot find CustomResourceDefinitions: %v", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(raw, d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, d)
	}
	return all
}
