package apis_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// formerManaged are the names of the managed kinds of provider-kubernetes. Crossplane 2 makes a
// ManagedResourceDefinition of each, whose names no later package may change. They have no short names.
var formerManaged = []string{
	"objects.kubernetes.crossplane.io", "objects.kubernetes.m.crossplane.io",
	"observedobjectcollections.kubernetes.crossplane.io", "observedobjectcollections.kubernetes.m.crossplane.io",
}

// withoutShortName are the names of all kinds without one. Cluster-scoped ProviderConfigs are among them, so that
// nobody takes them for ClusterProviderConfigs.
var withoutShortName = append([]string{
	"providerconfigs.kubernetes.crossplane.io", "providerconfigusages.kubernetes.crossplane.io",
}, formerManaged...)

// TestShortNames shows that each kind has a short name that no other kind has, nor one with nearly the same letters:
// kubectl takes one of two kinds of one short name by chance, and people take two that are alike for each other.
func TestShortNames(t *testing.T) {
	taken := map[string]string{}
	for _, d := range definitions(t) {
		if n := d.Spec.Names.ShortNames; (len(n) == 0) != slices.Contains(withoutShortName, d.Name) {
			t.Errorf("%s: want a short name unless it is one of those without, got %q", d.Name, n)
		}
		for _, n := range d.Spec.Names.ShortNames {
			for other, of := range taken {
				if differing(n, other) < 2 {
					t.Errorf("%s and %s have the short names %q and %q", of, d.Name, other, n)
				}
			}
			taken[n] = d.Name
		}
	}
}

// differing returns how many letters only one of two words has.
func differing(a, b string) int {
	for _, letter := range a {
		if strings.ContainsRune(b, letter) {
			a, b = strings.Replace(a, string(letter), "", 1), strings.Replace(b, string(letter), "", 1)
		}
	}
	return len(a) + len(b)
}

// TestColumns shows that kubectl get -o wide tells why something is not as it should be, for each kind
// that has conditions.
func TestColumns(t *testing.T) {
	for _, d := range definitions(t) {
		for _, v := range d.Spec.Versions {
			if _, ok := v.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]; !ok {
				continue
			}
			want := []string{"REASON", "MESSAGE"}
			switch kind := d.Spec.Names.Kind; {
			case strings.HasSuffix(kind, "ProviderConfig"):
				want = append(want, "READY", "USERS", "TARGET")
			case strings.HasPrefix(kind, "KubernetesApplication"):
				want = append(want, "READY", "AGE")
			case kind == "ObservedObjectCollection":
				want = append(want, "MEMBERS")
			case d.Name == "objects.kubernetes.m.crossplane.io":
				want = append(want, "PROVIDERCONFIG-KIND")
			}
			for _, name := range want {
				if !slices.ContainsFunc(v.AdditionalPrinterColumns,
					func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == name }) {
					t.Errorf("%s %s: want a column %s, got none", d.Name, v.Name, name)
				}
			}
		}
	}
}

// TestCategories shows that kubectl get managed lists each kind that has conditions, but for ProviderConfigs.
func TestCategories(t *testing.T) {
	for _, d := range definitions(t) {
		want := !strings.Contains(d.Spec.Names.Kind, "ProviderConfig")
		if got := slices.Contains(d.Spec.Names.Categories, "managed"); got != want {
			t.Errorf("%s in category managed: want %t, got %t", d.Name, want, got)
		}
	}
}

// ofObjectReference are words of the texts of Kubernetes' ObjectReference, of which most is untrue here.
var ofObjectReference = []string{"referent", "desiredState", "Specific resourceVersion"}

// TestTexts shows that no field has a text of Kubernetes' ObjectReference.
func TestTexts(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "package", "crds", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range ofObjectReference {
			if strings.Contains(string(raw), word) {
				t.Errorf("%s has the word %q", path, word)
			}
		}
	}
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
