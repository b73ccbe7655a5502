package projection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestKeep publishes one state of a definition after the other, each with what has been published before. It shows
// which versions the last schema has, and that the schema of that is the same one.
func TestKeep(t *testing.T) {
	type version struct {
		Name            string
		Served, Storage bool
	}
	cases := map[string]struct {
		reason string
		states [][]string // versions that are served, of which the last is stored
		want   []version
		same   bool // as if nothing had been published
	}{
		"Same": {
			reason: "What is published as before has the schema of before.",
			states: [][]string{{"v1"}, {"v1"}},
			want:   []version{{"v1", true, true}},
			same:   true,
		},
		"More": {
			reason: "A further version takes nothing away.",
			states: [][]string{{"v1"}, {"v1", "v2"}},
			want:   []version{{"v1", true, false}, {"v2", true, true}},
			same:   true,
		},
		"Fewer": {
			reason: "A version that is published no more stays, and is not served.",
			states: [][]string{{"v1", "v2"}, {"v2"}},
			want:   []version{{"v2", true, true}, {"v1", false, false}},
		},
		"Again": {
			reason: "So does each version of before.",
			states: [][]string{{"v1alpha1"}, {"v1"}, {"v2"}},
			want:   []version{{"v2", true, true}, {"v1", false, false}, {"v1alpha1", false, false}},
		},
		"Undone": {
			reason: "What is served again is served as it was.",
			states: [][]string{{"v1", "v2"}, {"v2"}, {"v1", "v2"}},
			want:   []version{{"v1", true, false}, {"v2", true, true}},
			same:   true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var before []string
			publish := func(names []string) (string, []version) {
				t.Helper()
				p := mustProject(t, widgets(t, names[len(names)-1], names...), nil)
				p.Keep(before...)
				s, err := p.Schema("agent")
				if err != nil {
					t.Fatal(err)
				}
				var got []version
				before = nil
				for _, v := range s.Spec.Versions {
					before, got = append(before, v.Name), append(got, version{v.Name, v.Served, v.Storage})
				}
				return s.GetName(), got
			}
			var was string
			var got []version
			for _, names := range tc.states {
				was, got = publish(names)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			last := tc.states[len(tc.states)-1]
			if again, _ := publish(last); again != was {
				t.Errorf("%s Want schema %s again, got %s", tc.reason, was, again)
			}
			before = nil
			if fresh, _ := publish(last); (fresh == was) != tc.same {
				t.Errorf("%s Schema %s, and %s if nothing had been published: want the same one: %t", tc.reason, was, fresh,
					tc.same)
			}
		})
	}
}

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
