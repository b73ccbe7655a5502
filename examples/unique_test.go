package examples

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestNoResourceTwice shows that no two example files define the same resource, so that they can be applied and
// deleted independently. The file of usual rights repeats other files on purpose.
func TestNoResourceTwice(t *testing.T) {
	first := map[string]string{}
	for _, f := range find(t, ".", ".yaml") {
		if f == "rbac/usual.yaml" || strings.HasPrefix(f, "capabilities/configurations/") {
			continue
		}
		for _, u := range resourcesIn(t, []byte(read(t, f))) {
			key := strings.Join([]string{u.GroupVersionKind().GroupKind().String(), u.GetNamespace(), u.GetName()}, " ")
			if other, ok := first[key]; ok {
				t.Errorf("%s is in %s and in %s", key, other, f)
			}
			first[key] = f
		}
	}
	if len(first) == 0 {
		t.Error("there are no resources")
	}
}

// resourcesIn returns the resources in the content of a file.
func resourcesIn(t *testing.T, content []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1); ; {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("cannot parse: %v\n%s", err, content)
		}
		if len(u.Object) > 0 {
			all = append(all, u)
		}
	}
}
