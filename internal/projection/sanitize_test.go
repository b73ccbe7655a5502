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

// anyValue is in the schemas of TestRepair for values that may be anything.
var anyValue = strings.NewReplacer("ANY", "x-kubernetes-preserve-unknown-fields: true")

// TestRepair shows what becomes of a schema, or of that of field a in an object.
func TestRepair(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, root, schema, want string
		repairs                    string // the paths that are told, with spaces between them, below that of the field
	}{
		"Structural":  {reason: "What is structural needs no repair.", schema: "{ANY}", want: "{ANY}"},
		"EmptyStatus": {reason: "So it is without fields.", schema: "{type: object}", want: "{type: object}"},
		"NoType": {
			reason: "What has no type may be anything, whatever it has beside.", repairs: ".type",
			schema: "{description: d, properties: {b: {type: string}}, items: {type: string}}", want: "{description: d, ANY}",
		},
		"UnknownType": {
			reason: "A type that does not exist becomes any type.", schema: "{type: any}", want: "{ANY}", repairs: ".type",
		},
		"KeyWithDots": {
			reason: "A field may have dots and brackets in its name.", repairs: ".properties[a.b[c]].type",
			schema: "{type: object, properties: {'a.b[c]': {description: d}}}",
			want:   "{type: object, properties: {'a.b[c]': {description: d, ANY}}}",
		},
		"EmbeddedWithoutFields": {
			reason: "An embedded resource without fields may have any: the agent's users met this.", repairs: ".properties",
			schema: "{type: object, x-kubernetes-embedded-resource: true}",
			want:   "{ANY}",
		},
		"TypesInChoices": {
			reason: "Choices between types cannot be said, so there is no choice.", repairs: ".anyOf[0].type",
			schema: "{ANY, anyOf: [{type: string}, {type: object}]}", want: "{ANY}",
		},
		"BothKindsOfFields": {
			reason: "An object with fields and with any fields may be anything.",
			schema: "{type: object, properties: {b: {type: string}}, additionalProperties: {type: string}}",
			want:   "{ANY}", repairs: ".additionalProperties",
		},
		"SetOfObjects": {
			reason: "A list of objects that are merged is no set.", repairs: ".items.x-kubernetes-map-type",
			schema: "{type: array, x-kubernetes-list-type: set, items: {type: object, properties: {b: {type: string}}}}",
			want:   "{type: array, x-kubernetes-list-type: set, items: {ANY}}",
		},
		"Default": {
			reason: "A default that is no value of its type is none.", repairs: ".properties[b].default",
			schema: "{type: object, properties: {b: {type: string, default: 5}, c: {type: string, default: x}}}",
			want:   "{type: object, properties: {b: {type: string}, c: {type: string, default: x}}}",
		},
		"DefaultOfMore": {
			reason: "Nor is one with a field that there is not.", repairs: ".default",
			schema: "{type: object, default: {b: x}, properties: {c: {type: string}}}",
			want:   "{type: object, properties: {c: {type: string}}}",
		},
		"UniqueItems": {
			reason: "What Kubernetes does not check goes.", repairs: ".uniqueItems",
			schema: "{type: array, uniqueItems: true, items: {type: string}}", want: "{type: array, items: {type: string}}",
		},
		"Rules": {
			reason:  "Only rules that cannot be compiled go.",
			schema:  "{type: integer, x-kubernetes-validations: [{rule: 'self >'}, {rule: 'self > 0'}, {rule: 'nothing'}]}",
			want:    "{type: integer, x-kubernetes-validations: [{rule: 'self > 0'}]}",
			repairs: ".x-kubernetes-validations[0].rule .x-kubernetes-validations[2].rule",
		},
		"CostlyRule": {
			reason: "A rule that costs too much goes: Kubernetes allows it to who had it before.",
			schema: "{type: array, items: {type: array, items: {type: string}}, x-kubernetes-validations: " +
				"[{rule: 'self.all(x, x.all(y, self.all(z, z.all(w, w != y))))'}]}",
			want: "{type: array, items: {type: array, items: {type: string}}}", repairs: ".x-kubernetes-validations[0].rule",
		},
		"Metadata": {
			reason: "Kubernetes checks metadata itself.", repairs: "properties[metadata]",
			root: "{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}",
			want: "{type: object}",
		},
		"Pattern": {
			reason: "A pattern that is no regular expression goes.", schema: "{type: string, pattern: '('}",
			want: "{type: string}", repairs: ".pattern",
		},
	} {
		t.Run(name, func(t *testing.T) {
			schema, want, at := tc.root, tc.want, ""
			if tc.root == "" {
				schema = "{type: object, properties: {a: " + tc.schema + "}}"
				want, at = "{type: object, properties: {a: "+tc.want+"}}", "properties[a]"
			}
			crd := widgets(t, "v1", "v1")
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema = parseSchema(t, anyValue.Replace(schema))
			crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
			}
			p := mustProject(t, crd, nil)
			if diff := cmp.Diff(parseSchema(t, anyValue.Replace(want)), p.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema,
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nrepairs %q\n-want, +got:\n%s", tc.reason, p.Repairs, diff)
			}
			for path := range strings.FieldsSeq(tc.repairs) {
				if !strings.Contains(strings.Join(p.Repairs, "\n"), "version v1: "+at+path+":") {
					t.Errorf("%s\n%s is not told among the repairs %q", tc.reason, at+path, p.Repairs)
				}
			}
			if (schema == want) != (len(p.Repairs) == 0) {
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
	for name, schema := range map[string]*apiextensionsv1.CustomResourceValidation{
		"NoSchema":    nil,
		"EmptySchema": {},
		"Schema":      {OpenAPIV3Schema: parseSchema(t, "{type: object, properties: {spec: {type: object}}}")},
	} {
		crd := widgets(t, "v1", "v1")
		crd.Spec.PreserveUnknownFields = true
		crd.Spec.Versions[0].Schema = schema
		p := mustProject(t, crd, nil)
		want := parseSchema(t, "{type: object, x-kubernetes-preserve-unknown-fields: true}")
		if diff := cmp.Diff(want, p.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
		if len(p.Repairs) != 1 {
			t.Errorf("%s: want it told, got %q", name, p.Repairs)
		}
	}
}
