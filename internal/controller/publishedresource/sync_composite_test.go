package publishedresource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// authored is the schema of the author of a composite resource.
const authored = `
type: object
properties:
  spec:
    type: object
    properties: {size: {type: string}, secretName: {type: string}}
  status:
    type: object
    properties: {address: {type: string}}
`

// anyFields lets objects have any fields in the spec.
const anyFields = `
type: object
properties:
  spec:
    type: object
    x-kubernetes-preserve-unknown-fields: true
    properties: {size: {type: string}, secretName: {type: string}}
`

// A compositeCase is an API that Crossplane has made, and what is the platform's in its spec.
type compositeCase struct {
	reason     string
	definition func(t *testing.T, group string) *apiextensionsv1.CustomResourceDefinition
	// ref is the field in which steps choose the Composition, and forged what a consumer writes into the spec.
	ref    v1alpha1.MutationPath
	forged string
	// composed is what Crossplane then writes into the spec of the copy, and want the spec in the end.
	composed, want string
	hidden         []string
}

var compositeCases = map[string]compositeCase{
	"Composite": {
		reason: "kcp takes no field that it does not know.",
		definition: func(t *testing.T, group string) *apiextensionsv1.CustomResourceDefinition {
			return build.Composite(t, group, "certs", authored, build.ScopeNamespaced)
		},
		ref: "spec.crossplane.compositionRef.name",
		forged: `{"crossplane":{"compositionRef":{"name":"forged"},` +
			`"resourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"forged"}]}}`,
		composed: `{"crossplane":{"resourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"mine"}]}}`,
		want: `{"size":"XL","secretName":"web-tls","crossplane":{"compositionRef":{"name":"of-CLUSTER"},
			"compositionUpdatePolicy":"Automatic","resourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"mine"}]}}`,
		hidden: []string{"crossplane"},
	},
	"OpenClaim": {
		reason: "kcp takes any field, as the author says, and none of the platform's comes down.",
		definition: func(t *testing.T, group string) *apiextensionsv1.CustomResourceDefinition {
			return build.Claim(t, group, "certs", anyFields)
		},
		ref:      "spec.compositionRef.name",
		forged:   `{"compositionRef":{"name":"forged"},"resourceRef":{"apiVersion":"v1","kind":"Secret","name":"forged"}}`,
		composed: `{"resourceRef":{"apiVersion":"v1","kind":"Secret","name":"mine"}}`,
		want: `{"size":"XL","secretName":"web-tls","compositionRef":{"name":"of-CLUSTER"},
			"compositeDeletePolicy":"Background","resourceRef":{"apiVersion":"v1","kind":"Secret","name":"mine"}}`,
		hidden: []string{"compositionRef", "resourceRef", "writeConnectionSecretToRef", "compositeDeletePolicy"},
	},
}

// TestSyncComposite shows that consumers of a composite resource or claim neither see nor write fields of the
// platform. Steps of mutation set them, the fields that Crossplane writes on the copy stay, and its conditions come
// up.
func TestSyncComposite(t *testing.T) {
	for name, tc := range compositeCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t)
			define(t, s.c, tc.definition(t, s.group))
			o := s.publishedCerts(local.Namespace(t))
			o.Spec.Mutation = template(tc.ref, "of-{{ .ClusterName }}")
			kube.Create(t, s.c, o)
			awaitPublished(t, s.c, o)
			s.wantHidden(t, o, tc.hidden)
			in := s.tenant(t)
			forged := s.cert("web")
			setSpec(t, forged, tc.forged)
			forged.SetAnnotations(map[string]string{"crossplane.io/external-name": "forged"})
			forged.SetLabels(map[string]string{"crossplane.io/composite": "forged", "crossplane.io/claim-name": "forged"})
			kube.Create(t, in, forged)
			s.compose(t, s.copyOf(t, in), tc.composed)
			kube.Patch(t, in, s.cert("web"), `{"spec":{"size":"XL"}}`)
			want := s.cert("web")
			want.Object["spec"] = map[string]any{}
			setSpec(t, want, strings.ReplaceAll(tc.want, "CLUSTER", in.cluster))
			kube.Eventually(t, "the spec below: "+tc.reason, func() (bool, string) {
				diff := cmp.Diff(want.Object["spec"], s.copyOf(t, in).Object["spec"])
				return diff == "", diff
			})
			s.wantForgedNowhere(t, in)
			awaitComposed(t, in, s.cert("web"))
		})
	}
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
	kube.Eventually(t, "the conditions", func() (bool, string) {
		if err := in.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return false, err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		return len(conditions) == 1, fmt.Sprint(u.Object["status"])
	})
	if status := u.Object["status"].(map[string]any); len(status) != 1 {
		t.Errorf("want conditions alone, got %v", status)
	}
}
