package v1alpha1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

const source = "resource: {apiGroup: cert-manager.io, kind: Certificate}\n"

// published returns a PublishedResource with a spec in YAML.
func published(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	s := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatalf("%v:\n%s", err, spec)
	}
	u.Object = map[string]any{"spec": s}
	u.SetGroupVersionKind(publishedv1alpha1.PublishedResourceGroupVersionKind)
	u.SetName(name)
	return u
}

// related returns a spec with one related resource. Its fields are given in YAML flow style.
func related(fields string) string { return source + "related: [{" + fields + "}]" }

// step returns a spec with one step of mutation.
func step(fields string) string { return source + "mutation: {spec: [{" + fields + "}]}" }

// projection returns a spec with a projection.
func projection(fields string) string { return source + "projection: {" + fields + "}" }

const (
	secret = "identifier: tls, origin: service, kind: Secret"
	byPath = "object: {reference: {path: spec.secretName}}"
)
