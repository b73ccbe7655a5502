package projection

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// keywords are values of keywords that mostly fit nothing. Each is a choice of the schemas that randomSchema makes.
var keywords = map[string][]any{
	"type": {
		"object", "object", "array", "string", "integer", "boolean", "number", "null", "any",
	},
	"format":                               {"date-time", "int32", "moon"},
	"default":                              {1, "a", map[string]any{}, []any{1}, nil},
	"pattern":                              {"a+", "("},
	"enum":                                 {[]any{1, "a"}, []any{}},
	"required":                             {[]any{"a"}, []any{"b", "b"}},
	"maximum":                              {1},
	"minLength":                            {-1, 2},
	"nullable":                             {true, false},
	"uniqueItems":                          {true},
	"description":                          {"d"},
	"$ref":                                 {"#/a"},
	"x-kubernetes-preserve-unknown-fields": {true, false},
	"x-kubernetes-embedded-resource":       {true},
	"x-kubernetes-int-or-string":           {true},
	"x-kubernetes-list-type":               {"map", "set", "atomic", "moon"},
	"x-kubernetes-list-map-keys":           {[]any{"a"}, []any{"a", "a"}, []any{}},
	"x-kubernetes-map-type":                {"granular", "atomic", "moon"},
	"x-kubernetes-validations": {
		[]any{map[string]any{"rule": "true"}, map[string]any{"rule": "self >"}},
		[]any{map[string]any{"rule": ""}},
	},
}

// randomSchema returns a schema of a depth.
func randomSchema(r *rand.Rand, depth int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(keywords)) {
		values := keywords[name]
		if r.Intn(8) == 0 {
			out[name] = values[r.Intn(len(values))]
		}
	}
	if r.Intn(3) > 0 {
		out["type"] = "object"
	}
	if depth == 0 {
		return out
	}
	inner := func() map[string]any { return randomSchema(r, depth-1) }
	if r.Intn(2) == 0 {
		out["properties"] = map[string]any{"a": inner(), "metadata": inner(), "x.y[z]": inner()}
	}
	if r.Intn(4) == 0 {
		out["items"] = inner()
	}
	if r.Intn(8) == 0 {
		out["items"] = []any{inner(), inner()}
	}
	if r.Intn(4) == 0 {
		out["additionalProperties"] = inner()
	}
	if r.Intn(8) == 0 {
		out["additionalProperties"] = r.Intn(2) == 0
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		if r.Intn(6) == 0 {
			out[name] = []any{inner(), inner()}
		}
	}
	if r.Intn(8) == 0 {
		out["not"] = inner()
	}
	return out
}

// FuzzSanitize shows of schemas of known keywords, which random bytes seldom are, that each either becomes one that
// is accepted, and that needs no further repair, or is an Error.
func FuzzSanitize(f *testing.F) {
	for seed := range int64(500) {
		f.Add(seed, seed%2 == 0, seed%10 == 0)
	}
	f.Fuzz(func(t *testing.T, seed int64, status, preserve bool) {
		content, err := json.Marshal(randomSchema(rand.New(rand.NewSource(seed)), 3))
		if err != nil {
			t.Fatal(err)
		}
		sanitizes(t, content, status, preserve)
	})
}

// sanitizes checks one schema.
func sanitizes(t *testing.T, content []byte, status, preserve bool) {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if json.Unmarshal(content, s) != nil {
		return
	}
	crd := widgets(t, "v1", "v1")
	crd.Spec.PreserveUnknownFields = preserve
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = s
	if status {
		crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
			Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
		}
	}
	before := crd.DeepCopy()
	p, err := Project(crd, specOf(publishedv1alpha1.SourceResource{}, nil))
	if diff := cmp.Diff(before, crd); diff != "" {
		t.Fatalf("the source must stay as it is: -before, +after:\n%s", diff)
	}
	if err != nil {
		if ReasonOf(err) == "" {
			t.Fatalf("an error without a reason: %v", err)
		}
		return
	}
	p.CRD.Spec.PreserveUnknownFields = false
	again, err := Project(p.CRD, specOf(publishedv1alpha1.SourceResource{}, nil))
	if err != nil {
		t.Fatalf("what is repaired is accepted, got %v", err)
	}
	if diff := cmp.Diff(p.CRD, again.CRD); diff != "" {
		t.Fatalf("a second repair changed something: -first, +second:\n%s", diff)
	}
}

// TestUnreadable shows that a schema on which Kubernetes panics is an Error as others are.
func TestUnreadable(t *testing.T) {
	for seed := range int64(2000) {
		content, err := json.Marshal(randomSchema(rand.New(rand.NewSource(seed)), 3))
		if err != nil {
			t.Fatal(err)
		}
		crd := widgets(t, "v1", "v1")
		if err := json.Unmarshal(content, crd.Spec.Versions[0].Schema.OpenAPIV3Schema); err != nil {
			t.Fatal(err)
		}
		_, err = Project(crd, specOf(publishedv1alpha1.SourceResource{}, nil))
		if err != nil && strings.Contains(err.Error(), "could not read the schema of version v1") {
			if ReasonOf(err) != InvalidSchema {
				t.Errorf("want reason %s, got %q", InvalidSchema, ReasonOf(err))
			}
			return
		}
	}
	t.Error("no schema makes Kubernetes panic any more: the recovery may go")
}
