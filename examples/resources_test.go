package examples

import (
	"bytes"
	"io"
	"testing"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

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
