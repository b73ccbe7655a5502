package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCacheLeavesOut shows what is not kept of resources in memory: the schemas of CustomResourceDefinitions, which are
// nearly all of them.
func TestCacheLeavesOut(t *testing.T) {
	schema := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "hats.example.com"}}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: schema}}
	var got any
	for kind, o := range cacheOptions(&flags{}, nil).ByObject {
		if _, ok := kind.(*apiextensionsv1.CustomResourceDefinition); !ok || o.Transform == nil {
			continue
		}
		var err error
		if got, err = o.Transform(d.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	want := d.DeepCopy()
	want.Spec.Versions[0].Schema = nil
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("CustomResourceDefinition in memory: -want, +got:\n%s", diff)
	}
}

// TestIntervals shows which intervals are refused: the provider would look all the time.
func TestIntervals(t *testing.T) {
	for arg, refused := range map[string]bool{
		"--poll=0":                     false, // Changes are seen all the same.
		"--sync=0":                     false,
		"--sync=-1s":                   true,
		"--poll-state-metric=0":        true,
		"--poll-state-metric=1s":       false,
		"--poll-jitter-percentage=99":  false,
		"--poll-jitter-percentage=100": true,
	} {
		f := parse(t, arg)
		if err := f.check(); (err != nil) != refused {
			t.Errorf("%s: want it refused: %t, got %v", arg, refused, err)
		}
	}
}
