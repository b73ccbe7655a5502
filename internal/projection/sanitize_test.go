package projection

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestUntouched shows that a schema kcp accepts stays as it is, to the last field: only then its name is that of
// api-syncagent.
func TestUntouched(t *testing.T) {
	crd := certificates(t)
	p := mustProject(t, crd, nil)
	if diff := cmp.Diff(crd.Spec.Versions, p.CRD.Spec.Versions); diff != "" || len(p.Repairs) > 0 {
		t.Errorf("repairs %v: -source, +projected:\n%s", p.Repairs, diff)
	}
}

func TestRepair(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		schema  string
		want    string
		repairs []string // The path each begins with.
		plain   bool     // Without a status subresource.
	}{
		"Structural": {
			reason: "A structural schema needs no repair.",
			schema: "{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}",
			want:   "{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}",
		},
		"EmptyStatus": {
			reason: "An object without fields is accepted as it is.",
			schema: "{type: object, properties: {status: {type: object}}}",
			want:   "{type: object, properties: {status: {type: object}}}",
		},
		"NoTypeAtRoot": {
			reason:  "The root is an object.",
			schema:  "{properties: {spec: {type: object}}}",
			want:    "{type: object, properties: {spec: {type: object}}}",
			repairs: []string{"type"},
		},
		"NoTypes": {
			reason: "What has no type may be anything, whatever it has beside.",
			schema: "{type: object, properties: {a: {properties: {b: {type: string}}}, c: {items: {type: string}}, " +
				"d: {description: any}}}",
			want: "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}, " +
				"c: {x-kubernetes-preserve-unknown-fields: true}, " +
				"d: {description: any, x-kubernetes-preserve-unknown-fields: true}}}",
			repairs: []string{"properties[a].type", "properties[c].type", "properties[d].type"},
		},
		"UnknownType": {
			reason:  "A type that does not exist becomes any type.",
			schema:  "{type: object, properties: {a: {type: any}}}",
			want:    "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}",
			repairs: []string{"properties[a].type", "properties[a].type"},
		},
		"KeyWithDots": {
			reason: "A field may have dots and brackets in its name.",
			schema: "{type: object, properties: {'a.b[c]': {type: object, properties: {d: {description: any}}}}}",
			want: "{type: object, properties: {'a.b[c]': {type: object, properties: {d: {description: any, " +
				"x-kubernetes-preserve-unknown-fields: true}}}}}",
			repairs: []string{"properties[a.b[c]].properties[d].type"},
		},
		"EmbeddedWithoutFields": {
			reason: "An embedded resource without fields may have any: the agent's users met this.",
			schema: "{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true}}}",
			want: "{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true, " +
				"x-kubernetes-preserve-unknown-fields: true}}}",
			repairs: []string{"properties[a].properties"},
		},
		"TypesInChoices": {
			reason: "Choices between types cannot be said, so there is no choice.",
			schema: "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true, anyOf: [{type: string}, " +
				"{type: object}]}}}",
			want:    "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}",
			repairs: []string{"properties[a].anyOf[0].type"},
		},
		"FieldOnlyInChoice": {
			reason: "A field that only a choice names may be anything.",
			schema: "{type: object, properties: {c: {type: string}}, oneOf: [{properties: {b: {minimum: 1}}}]}",
			want: "{type: object, properties: {b: {x-kubernetes-preserve-unknown-fields: true}, c: {type: string}}, " +
				"oneOf: [{properties: {b: {minimum: 1}}}]}",
			repairs: []string{"properties[b]"},
			plain:   true,
		},
		"ItemsOnlyInChoice": {
			reason: "Items that only a choice names may be anything.",
			schema: "{type: object, properties: {c: {type: array}}, oneOf: [{properties: {c: {items: {minimum: 1}}}}]}",
			want: "{type: object, properties: {c: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}}, " +
				"oneOf: [{properties: {c: {items: {minimum: 1}}}}]}",
			repairs: []string{"properties[c].items"},
			plain:   true,
		},
		"ChoiceBesideStatus": {
			reason:  "With a status subresource the whole object cannot be a choice.",
			schema:  "{type: object, properties: {c: {type: string}}, oneOf: [{required: [c]}]}",
			want:    "{type: object, properties: {c: {type: string}}}",
			repairs: []string{""},
		},
		"BothKindsOfFields": {
			reason: "An object with fields and with any fields keeps those that are described.",
			schema: "{type: object, properties: {a: {type: object, properties: {b: {type: string}}, " +
				"additionalProperties: {type: string}}}}",
			want: "{type: object, properties: {a: {type: object, properties: {b: {type: string}}, " +
				"x-kubernetes-preserve-unknown-fields: true}}}",
			repairs: []string{"properties[a].additionalProperties"},
		},
		"MapWithoutKey": {
			reason: "A list that is a map needs keys that are there.",
			schema: "{type: object, properties: {a: {type: array, x-kubernetes-list-type: map, " +
				"x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}}}",
			want:    "{type: object, properties: {a: {type: array, items: {type: object, properties: {name: {type: string}}}}}}",
			repairs: []string{"properties[a].items.properties[name].default"},
		},
		"SetOfObjects": {
			reason: "A list of objects that are merged is no set.",
			schema: "{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: object, " +
				"properties: {b: {type: string}}}}}}",
			want:    "{type: object, properties: {a: {type: array, items: {type: object, properties: {b: {type: string}}}}}}",
			repairs: []string{"properties[a].items.x-kubernetes-map-type"},
		},
		"Default": {
			reason:  "A default that is no value of its type is none.",
			schema:  "{type: object, properties: {a: {type: string, default: 5}, b: {type: string, default: x}}}",
			want:    "{type: object, properties: {a: {type: string}, b: {type: string, default: x}}}",
			repairs: []string{"properties[a].default"},
		},
		"DefaultOfMore": {
			reason:  "Nor is one with a field that there is not.",
			schema:  "{type: object, properties: {a: {type: object, default: {b: x}, properties: {c: {type: string}}}}}",
			want:    "{type: object, properties: {a: {type: object, properties: {c: {type: string}}}}}",
			repairs: []string{"properties[a].default"},
		},
		"UniqueItems": {
			reason:  "What Kubernetes does not check goes.",
			schema:  "{type: object, properties: {a: {type: array, uniqueItems: true, items: {type: string}}}}",
			want:    "{type: object, properties: {a: {type: array, items: {type: string}}}}",
			repairs: []string{"properties[a].uniqueItems"},
		},
		"Rules": {
			reason: "Only rules that cannot be compiled go.",
			schema: "{type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: 'self >'}, " +
				"{rule: 'self > 0'}, {rule: 'nothing'}]}}}",
			want: "{type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: 'self > 0'}]}}}",
			repairs: []string{
				"properties[a].x-kubernetes-validations[0].rule",
				"properties[a].x-kubernetes-validations[2].rule",
			},
		},
		"CostlyRule": {
			reason: "A rule that costs too much goes: Kubernetes allows it to who had it before.",
			schema: "{type: object, properties: {a: {type: array, items: {type: array, items: {type: string}}, " +
				"x-kubernetes-validations: [{rule: 'self.all(x, x.all(y, self.all(z, z.all(w, w != y))))'}]}}}",
			want:    "{type: object, properties: {a: {type: array, items: {type: array, items: {type: string}}}}}",
			repairs: []string{"properties[a].x-kubernetes-validations[0].rule"},
		},
		"Reference": {
			reason:  "References are not resolved in a definition.",
			schema:  "{type: object, properties: {a: {$ref: '#/x'}}}",
			want:    "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true}}}",
			repairs: []string{"properties[a].$ref", "properties[a].type"},
		},
		"Metadata": {
			reason:  "Kubernetes checks metadata itself.",
			schema:  "{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}",
			want:    "{type: object, properties: {metadata: {type: object}}}",
			repairs: []string{"properties[metadata]"},
		},
		"ResourceFields": {
			reason: "The fields of each resource have the types they have.",
			schema: "{type: object, properties: {apiVersion: {type: integer}, " +
				"a: {type: object, x-kubernetes-embedded-resource: true, properties: {kind: {type: integer, " +
				"description: of it}}}}}",
			want: "{type: object, properties: {apiVersion: {type: string}, " +
				"a: {type: object, x-kubernetes-embedded-resource: true, properties: {kind: {type: string, description: of it}}}}}",
			repairs: []string{"properties[apiVersion].type", "properties[a].properties[kind].type"},
		},
		"Pattern": {
			reason:  "A pattern that is no regular expression goes.",
			schema:  "{type: object, properties: {a: {type: string, pattern: '('}}}",
			want:    "{type: object, properties: {a: {type: string}}}",
			repairs: []string{"properties[a].pattern"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgets(t, "v1", "v1")
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parseSchema(t, tc.schema)
			if !tc.plain {
				crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				}
			}
			p := mustProject(t, crd, nil)
			if diff := cmp.Diff(parseSchema(t, tc.want), p.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema,
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nrepairs %q\n-want, +got:\n%s", tc.reason, p.Repairs, diff)
			}
			for _, path := range tc.repairs {
				if !strings.Contains(strings.Join(p.Repairs, "\n"), "version v1: "+path+":") {
					t.Errorf("%s\n%s is not told among the repairs %q", tc.reason, path, p.Repairs)
				}
			}
			if (len(tc.repairs) == 0) != (len(p.Repairs) == 0) {
				t.Errorf("%s\nrepairs: %q", tc.reason, p.Repairs)
			}
			again, err := Project(p.CRD, specOf(publishedv1alpha1.SourceResource{}, nil))
			if err != nil || len(again.Repairs) > 0 {
				t.Errorf("%s\nwhat is repaired needs no repair, got %v, %q", tc.reason, err, again.Repairs)
			}
		})
	}
}

// TestUnrepaired shows that what cannot be repaired is told.
func TestUnrepaired(t *testing.T) {
	crd := widgets(t, "v1", "v1")
	crd.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{
		Name: "A", Type: "moon", JSONPath: ".a",
	}}
	_, err := Project(crd, specOf(publishedv1alpha1.SourceResource{}, nil))
	if ReasonOf(err) != InvalidSchema || !strings.Contains(err.Error(), "spec.additionalPrinterColumns[0].type") {
		t.Errorf("want the field and the reason, got %q: %v", ReasonOf(err), err)
	}
}

// TestAnyFields shows that what had no schema, or kept all fields beside it, keeps them.
func TestAnyFields(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		schema *apiextensionsv1.CustomResourceValidation
		want   string
	}{
		"NoSchema": {
			reason: "Without a schema an object may have any fields.",
			schema: nil,
			want:   "{type: object, x-kubernetes-preserve-unknown-fields: true}",
		},
		"EmptySchema": {
			reason: "An empty schema is none.",
			schema: &apiextensionsv1.CustomResourceValidation{},
			want:   "{type: object, x-kubernetes-preserve-unknown-fields: true}",
		},
		"Schema": {
			reason: "Fields that are not described are kept at every depth.",
			schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: parseSchema(t,
				"{type: object, properties: {spec: {type: object, properties: {a: {type: string}}}, "+
					"m: {type: object, additionalProperties: {type: string}}}}")},
			want: "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {spec: {type: object, " +
				"x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}, " +
				"m: {type: object, additionalProperties: {type: string}}}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgets(t, "v1", "v1")
			crd.Spec.PreserveUnknownFields = true
			crd.Spec.Versions[0].Schema = tc.schema
			p := mustProject(t, crd, nil)
			if diff := cmp.Diff(parseSchema(t, tc.want), p.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if len(p.Repairs) != 1 {
				t.Errorf("%s\nit is told, got %q", tc.reason, p.Repairs)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		description int
		pattern     int
		described   bool
		want        Reason
	}{
		"Small": {
			reason:      "A schema that fits keeps its descriptions.",
			description: 1_000_000,
			pattern:     0,
			described:   true,
			want:        "",
		},
		"Descriptions": {
			reason:      "Descriptions go if the schema is too large with them.",
			description: 2_000_000,
			pattern:     0,
			described:   false,
			want:        "",
		},
		"TooLarge": {
			reason:      "What is too large without descriptions cannot be published.",
			description: 10,
			pattern:     2_000_000,
			described:   false,
			want:        TooLarge,
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgets(t, "v1", "v1")
			s := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
			s.Properties["a"] = apiextensionsv1.JSONSchemaProps{
				Type: "string", Description: strings.Repeat("d", tc.description),
				Title: strings.Repeat("t", tc.pattern),
			}
			p, err := Project(crd, specOf(publishedv1alpha1.SourceResource{}, nil))
			if got := ReasonOf(err); got != tc.want {
				t.Fatalf("%s\nwant %q, got %q: %v", tc.reason, tc.want, got, err)
			}
			if p == nil {
				return
			}
			described := p.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["a"].Description != ""
			if described != tc.described || (len(p.Repairs) == 0) != tc.described {
				t.Errorf("%s\ndescribed %t, repairs %q", tc.reason, described, p.Repairs)
			}
		})
	}
}
