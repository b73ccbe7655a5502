package projection

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// FuzzSanitize shows of any schema that it either becomes one that is accepted, and that needs no further repair, or is
// an Error.
func FuzzSanitize(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string","default":"x"}}}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"properties":{"b":{}}}],"items":{"$ref":"#/x"}}}}`,
		`{"type":"array","items":[{"type":"string"},{}],"additionalItems":true}`,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"type":"string",` +
			`"x-kubernetes-list-type":"map"}}}`,
		`{"type":"object","properties":{"metadata":{"type":"string"},"apiVersion":{"type":"integer"},"kind":{}}}`,
		`{"type":"object","additionalProperties":false,"not":{"required":["a"]},` +
			`"enum":[{}],"x-kubernetes-validations":[{"rule":"self"}]}`,
		`{"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,` +
			`"additionalProperties":{"nullable":true}}}}`,
		`{"type":"object","x-kubernetes-preserve-unknown-fields":false,"properties":{"a]b.c[":{"type":"object",` +
			`"x-kubernetes-map-type":"granular","patternProperties":{"a":{}}}}}`,
		`{"type":"object","definitions":{"a":{}},"dependencies":{"a":["b"]},` +
			`"id":"x","$schema":"y","externalDocs":{"url":"z"},"example":1,"uniqueItems":true}`,
	} {
		f.Add([]byte(seed), true, false)
	}
	f.Fuzz(sanitizes)
}

// sanitizes checks one schema, if it is one.
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
