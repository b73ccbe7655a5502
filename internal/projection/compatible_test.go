package projection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestBreaks shows which changes of a schema are held back, and what is said of them.
func TestBreaks(t *testing.T) {
	for name, tc := range map[string]struct{ was, is, want string }{
		"Description":  {was: "{type: string}", is: "{type: string, description: text}"},
		"Default":      {was: "{type: string}", is: "{type: string, default: a}"},
		"OtherDefault": {was: "{type: string, default: a}", is: "{type: string, default: b}"},
		"MoreValues":   {was: "{type: string, enum: [a]}", is: "{type: string, enum: [a, b]}"},
		"FewerValues": {
			was:  "{type: string, enum: [a, b]}",
			is:   "{type: string, enum: [a]}",
			want: "f: narrower enum",
		},
		"FirstValues": {was: "{type: string}", is: "{type: string, enum: [a]}", want: "f: narrower enum"},
		"AnyValue":    {was: "{type: string, enum: [a]}", is: "{type: string}", want: "f: narrower enum"},
		"Null":        {was: "{type: string}", is: "{type: string, nullable: true}"},
		"NoNull":      {was: "{type: string, nullable: true}", is: "{type: string}", want: "f: narrower nullable"},
		"Type":        {was: "{type: string}", is: "{type: integer}", want: "f: another type"},
		"WiderType":   {was: "{type: integer}", is: "{type: number}", want: "f: another type"},
		"Wider":       {was: "{type: string, maxLength: 5}", is: "{type: string, maxLength: 6}"},
		"NoLimit":     {was: "{type: integer, minimum: 5}", is: "{type: integer}"},
		"Narrower": {
			was:  "{type: string, maxLength: 5}",
			is:   "{type: string, maxLength: 4}",
			want: "f: narrower maxLength",
		},
		"FirstLimit": {was: "{type: integer}", is: "{type: integer, minimum: 5}", want: "f: narrower minimum"},
		"Exclusive": {
			was:  "{type: integer, minimum: 5}",
			is:   "{type: integer, minimum: 5, exclusiveMinimum: true}",
			want: "f: other rules",
		},
		"Items":     {was: list("minItems: 1"), is: list("minItems: 2"), want: "f: narrower minItems"},
		"NoPattern": {was: "{type: string, pattern: a}", is: "{type: string}"},
		"Pattern":   {was: "{type: string}", is: "{type: string, pattern: a}", want: "f: narrower pattern"},
		"Format":    {was: "{type: string}", is: "{type: string, format: date}", want: "f: other rules"},
		"Rule": {
			was:  "{type: string}",
			is:   "{type: string, x-kubernetes-validations: [{rule: 'self != \"a\"'}]}",
			want: "f: other rules",
		},
		"NoRule": {
			was:  "{type: string, x-kubernetes-validations: [{rule: 'self != \"a\"'}]}",
			is:   "{type: string}",
			want: "f: other rules",
		},
		"Set": {
			was:  list("x-kubernetes-list-type: atomic"),
			is:   list("x-kubernetes-list-type: set"),
			want: "f: other rules",
		},
		"Unknown": {
			was:  "{type: object}",
			is:   "{type: object, x-kubernetes-preserve-unknown-fields: true}",
			want: "f: other rules",
		},
		"NoUnknown": {
			was:  "{type: object, x-kubernetes-preserve-unknown-fields: true}",
			is:   "{type: object}",
			want: "f: other rules",
		},
		"OptionalField": {was: "{type: object}", is: "{type: object, properties: {g: {type: string}}}"},
		"RequiredField": {
			was:  "{type: object}",
			is:   "{type: object, properties: {g: {type: string}}, required: [g]}",
			want: "f.g: new required field",
		},
		"NoLongerRequired": {
			was: "{type: object, properties: {g: {type: string}}, required: [g]}",
			is:  "{type: object, properties: {g: {type: string}}}",
		},
		"GoneField": {
			was:  "{type: object, properties: {g: {type: object, properties: {h: {type: string}}}}}",
			is:   "{type: object}",
			want: "f.g: gone",
		},
		"DescribedField": {
			was:  "{type: object, x-kubernetes-preserve-unknown-fields: true}",
			is:   "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {g: {type: string}}}",
			want: "f.g: had any value",
		},
		"Value": {was: values("{type: string}"), is: values("{type: string, description: text}")},
		"NarrowerValue": {
			was:  values("{type: string}"),
			is:   values("{type: string, maxLength: 5}"),
			want: "f.*: narrower maxLength",
		},
		"NoValues": {was: values("{type: string}"), is: "{type: object}", want: "f.*: gone"},
		"Item": {
			was:  "{type: array, items: {type: string}}",
			is:   "{type: array, items: {type: string, maxLength: 5}}",
			want: "f.items: narrower maxLength",
		},
		"Alternative": {
			was:  "{type: string, anyOf: [{maxLength: 5}]}",
			is:   "{type: string, anyOf: [{maxLength: 4}]}",
			want: "f.anyOf[0]: narrower maxLength; f: other rules",
		},
		"Seven": {
			was:  "{type: object, properties: {a: {}, b: {}, c: {}, d: {}, e: {}, g: {}, h: {}}}",
			is:   "{type: object}",
			want: "f.a: gone; f.b: gone; f.c: gone; f.d: gone; f.e: gone; and 2 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			project := func(field string) *Projection {
				crd := widgets(t, "v1", "v1")
				*crd.Spec.Versions[0].Schema.OpenAPIV3Schema = *parseSchema(t, "{type: object, properties: {f: "+field+"}}")
				return mustProject(t, crd, nil)
			}
			published, err := project(tc.was).Schema("agent")
			if err != nil {
				t.Fatal(err)
			}
			got, err := project(tc.is).Breaks(published)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v -want, +got:\n%s", err, diff)
			}
		})
	}
}

func list(more string) string { return "{type: array, items: {type: string}, " + more + "}" }

func values(of string) string { return "{type: object, additionalProperties: " + of + "}" }

// TestBreaksOfObject shows that a rule for the whole object is held back, too.
func TestBreaksOfObject(t *testing.T) {
	crd := widgets(t, "v1", "v1")
	published, err := mustProject(t, crd, nil).Schema("agent")
	if err != nil {
		t.Fatal(err)
	}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	root.Required = []string{"spec"}
	root.XValidations = apiextensionsv1.ValidationRules{{Rule: "has(self.spec.size)"}}
	got, err := mustProject(t, crd, nil).Breaks(published)
	if diff := cmp.Diff("object: other rules; spec: new required field", got); diff != "" || err != nil {
		t.Errorf("%v -want, +got:\n%s", err, diff)
	}
}

// TestBreaksOfVersions shows what of the versions of an API is held back, and that its author is not.
func TestBreaksOfVersions(t *testing.T) {
	renamed := &publishedv1alpha1.ResourceProjection{
		Versions: map[string]publishedv1alpha1.VersionName{"v1": "v1beta1"},
	}
	cluster := &publishedv1alpha1.ResourceProjection{Scope: publishedv1alpha1.ScopeCluster}
	for name, tc := range map[string]struct {
		reason  string
		was, is []string // versions, of which the last is stored
		to      *publishedv1alpha1.ResourceProjection
		change  func(second *apiextensionsv1.JSONSchemaProps)
		want    string
	}{
		"More": {
			reason: "Another version with the same fields takes nothing away.",
			was:    []string{"v1"}, is: []string{"v1", "v2"},
		},
		"Fewer": {
			reason: "Who uses a version needs it.",
			was:    []string{"v1", "v2"}, is: []string{"v2"}, want: "version v1: no longer served",
		},
		"Lossy": {
			reason: "kcp converts nothing: a field that another version lacks is lost there.",
			was:    []string{"v1"}, is: []string{"v1", "v2"},
			want:   "v1 -> v2: spec.size: another type; v1 -> v2: spec: another type",
			change: func(s *apiextensionsv1.JSONSchemaProps) { delete(s.Properties, "spec") },
		},
		"Demanding": {
			reason: "An object of one version has to fit into another.",
			was:    []string{"v1"}, is: []string{"v1", "v2"}, want: "v1 -> v2: spec: new required fields",
			change: func(s *apiextensionsv1.JSONSchemaProps) {
				spec := s.Properties["spec"]
				spec.Required = []string{"size"}
				s.Properties["spec"] = spec
			},
		},
		"Renamed": {
			reason: "Who renames a version of the same source wants it so.",
			was:    []string{"v1"}, is: []string{"v1"}, to: renamed,
		},
		"RenamedAndChanged": {
			reason: "Of another source it is not known who has changed it.",
			was:    []string{"v1"}, is: []string{"v1", "v2"}, to: renamed, want: "version v1: no longer served",
		},
		"Scope": {
			reason: "Objects of another scope are other objects.",
			was:    []string{"v1"}, is: []string{"v1", "v2"}, to: cluster, want: "scope: changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			published, err := mustProject(t, widgets(t, tc.was[len(tc.was)-1], tc.was...), nil).Schema("agent")
			if err != nil {
				t.Fatal(err)
			}
			crd := widgets(t, tc.is[len(tc.is)-1], tc.is...)
			if tc.change != nil {
				tc.change(crd.Spec.Versions[1].Schema.OpenAPIV3Schema)
			}
			got, err := mustProject(t, crd, tc.to).Breaks(published)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s %v -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
