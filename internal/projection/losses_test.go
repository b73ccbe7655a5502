package projection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestLosses shows which fields of versions are lost in kcp, which does not call a webhook to convert objects, and that
// who uses such a version is warned.
func TestLosses(t *testing.T) {
	const stored = "{type: object, properties: {spec: {type: object, properties: {shelves: {type: array, items: " +
		"{type: object, properties: {width: {type: integer}}}}, glaze: {type: string}}}, status: {type: object}}}"
	of := func(spec string) string {
		return "{type: object, properties: {spec: {type: object, properties: {" + spec + "}}, status: {type: object}}}"
	}
	for name, tc := range map[string]struct {
		reason, other string
		strategy      apiextensionsv1.ConversionStrategyType
		want          []string
	}{
		"Same": {
			reason: "What both have is kept.", other: stored, strategy: apiextensionsv1.WebhookConverter,
		},
		"NoneConverter": {
			reason: "The service cluster loses the same.", other: of("size: {type: integer}"),
			strategy: apiextensionsv1.NoneConverter,
		},
		"Fields": {
			reason: "What only one has is lost, and so is what has another type.",
			other: of("size: {type: integer}, glaze: {type: integer}, shelves: {type: array, items: {type: object, " +
				"properties: {height: {type: integer}}}}"),
			strategy: apiextensionsv1.WebhookConverter,
			want:     []string{"v1alpha1: spec.glaze, spec.shelves.[].height, spec.shelves.[].width, spec.size"},
		},
		"Open": {
			reason:   "What takes any field has what the other has, and loses the rest.",
			strategy: apiextensionsv1.WebhookConverter,
			other: "{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}, " +
				"status: {type: object}}}",
			want: []string{"v1alpha1: spec.*"},
		},
		"Many": {
			reason:   "The first tell enough.",
			other:    of("a: {type: string}, b: {type: string}, c: {type: string}, d: {type: string}"),
			strategy: apiextensionsv1.WebhookConverter,
			want:     []string{"v1alpha1: spec.a, spec.b, spec.c, spec.d, spec.glaze, and 1 more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgets(t, "v1", "v1alpha1", "v1")
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: tc.strategy}
			for i, text := range []string{tc.other, stored} {
				crd.Spec.Versions[i].Schema.OpenAPIV3Schema = parseSchema(t, text)
			}
			p := mustProject(t, crd, nil)
			if diff := cmp.Diff(tc.want, p.Losses); diff != "" {
				t.Errorf("%s Losses: -want, +got:\n%s", tc.reason, diff)
			}
			s, err := p.Schema("agent")
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range s.Spec.Versions {
				warns := v.DeprecationWarning != nil && strings.HasPrefix(*v.DeprecationWarning, "use version v1, ")
				if warns != v.Deprecated || warns != (v.Name == "v1alpha1" && tc.want != nil) {
					t.Errorf("%s Version %s warns: %t", tc.reason, v.Name, warns)
				}
			}
		})
	}
}
