package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// anyFields lets objects have any fields in the spec.
const anyFields = `
type: object
properties:
  spec:
    type: object
    x-kubernetes-preserve-unknown-fields: true
    properties: {size: {type: string}, secretName: {type: string}}
`

// TestSyncComposite shows that consumers of a claim whose author lets them write any field neither see nor write fields
// of the platform. Steps of mutation set them, the fields that Crossplane writes on the copy stay, and its conditions
// come up. TestCrossplaneFields has which fields that are, of claims and of composite resources.
func TestSyncComposite(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	kube.Create(t, s.c, build.Claim(t, s.group, "certs", anyFields))
	o := s.publishedCerts(local.Namespace(t))
	o.Spec.Mutation = template("spec.compositionRef.name", "of-{{ .ClusterName }}")
	kube.Create(t, s.c, o)
	awaitPublished(t, s.c, o)
	s.wantHidden(t, o, []string{"compositionRef", "resourceRef", "writeConnectionSecretToRef", "compositeDeletePolicy"})
	in := s.tenant(t)
	forged := s.cert("web")
	setSpec(t, forged,
		`{"compositionRef":{"name":"forged"},"resourceRef":{"apiVersion":"v1","kind":"Secret","name":"forged"}}`)
	forged.SetAnnotations(map[string]string{"crossplane.io/external-name": "forged"})
	forged.SetLabels(map[string]string{"crossplane.io/composite": "forged", "crossplane.io/claim-name": "forged"})
	kube.Create(t, in, forged)
	s.compose(t, s.copyOf(t, in), `{"resourceRef":{"apiVersion":"v1","kind":"Secret","name":"mine"}}`)
	kube.Patch(t, in, s.cert("web"), `{"spec":{"size":"XL"}}`)
	want := s.cert("web")
	setSpec(t, want, `{"size":"XL","secretName":"web-tls","compositionRef":{"name":"of-`+in.cluster+`"},
		"compositeDeletePolicy":"Background","resourceRef":{"apiVersion":"v1","kind":"Secret","name":"mine"}}`)
	kube.Eventually(t, "the spec below", func() (bool, string) {
		diff := cmp.Diff(want.Object["spec"], s.copyOf(t, in).Object["spec"])
		return diff == "", diff
	})
	s.wantForgedNowhere(t, in)
	awaitComposed(t, in, s.cert("web"))
}

// setSpec sets fields of a spec, given as JSON.
func setSpec(t *testing.T, u *unstructured.Unstructured, fields string) {
	t.Helper()
	spec := u.Object["spec"].(map[string]any)
	if err := yaml.Unmarshal([]byte(fields), &spec); err != nil {
		t.Fatal(err)
	}
}

// wantHidden fails if the schema that consumers get has one of the fields in its spec, or columns that lead there, or
// if the PublishedResource does not tell.
func (s *shop) wantHidden(t *testing.T, o *v1alpha1.PublishedResource, fields []string) {
	t.Helper()
	ars := s.schemaOffered(t, o)
	schema, err := ars.Spec.Versions[0].GetSchema()
	if err != nil {
		t.Fatal(err)
	}
	told := o.GetCondition(v1alpha1.TypeSchemaPublished).Message
	for _, field := range fields {
		if _, ok := schema.Properties["spec"].Properties[field]; ok {
			t.Errorf("consumers see spec.%s", field)
		}
		if !strings.Contains(told, "spec."+field) {
			t.Errorf("want spec.%s to be told of, got %q", field, told)
		}
	}
	if slices.ContainsFunc(ars.Spec.Versions[0].AdditionalPrinterColumns,
		func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
			return strings.HasPrefix(c.JSONPath, ".spec")
		}) {
		t.Errorf("consumers see columns %v", ars.Spec.Versions[0].AdditionalPrinterColumns)
	}
}

// compose does to a copy what Crossplane does.
func (s *shop) compose(t *testing.T, copied *unstructured.Unstructured, spec string) {
	t.Helper()
	kube.Patch(t, s.c, copied, `{"metadata":{"labels":{"crossplane.io/composite":"mine"}},"spec":`+spec+`}`)
	now := "2026-01-01T00:00:00Z"
	status := fmt.Sprintf(`{"status":{"connectionDetails":{"lastPublishedTime":%q},"conditions":[
		{"type":"Ready","status":"True","reason":"Available","lastTransitionTime":%q}]}}`, now, now)
	kube.PatchStatus(t, s.c, copied, status)
}

// wantForgedNowhere fails the test if the copy has forged labels or annotations of Crossplane.
func (s *shop) wantForgedNowhere(t *testing.T, in tenant) {
	t.Helper()
	copied := s.copyOf(t, in)
	got := map[string]string{}
	for _, all := range []map[string]string{copied.GetLabels(), copied.GetAnnotations()} {
		for key, value := range all {
			if strings.Contains(key, "crossplane.io/") {
				got[key] = value
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"crossplane.io/composite": "mine"}, got); diff != "" {
		t.Errorf("labels and annotations of Crossplane: -want, +got:\n%s", diff)
	}
}

// awaitComposed waits until a tenant sees that its object is ready, and fails if it sees more than conditions.
func awaitComposed(t *testing.T, in tenant, u *unstructured.Unstructured) {
	t.Helper()
	kube.Await(t, in, u, "the conditions", func() (bool, string) {
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return len(conditions) == 1, fmt.Sprint(u.Object["status"])
	})
	if status := u.Object["status"].(map[string]any); len(status) != 1 {
		t.Errorf("want conditions alone, got %v", status)
	}
}
