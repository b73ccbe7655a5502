package projection

import (
	"cmp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

const openapiOfThings = `
components:
  schemas:
    io.example.Thing:
      type: object
      description: A thing.
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
      properties:
        apiVersion: {type: string}
        kind: {type: string}
        metadata: {allOf: [{$ref: '#/components/schemas/io.example.Meta'}], default: {}}
        spec: {allOf: [{$ref: '#/components/schemas/io.example.ThingSpec'}], default: {}, description: What is wanted.}
        status: {$ref: '#/components/schemas/io.example.Empty'}
    io.example.ThingSpec:
      type: object
      description: Of a thing.
      properties:
        replicas: {type: integer, format: int32, default: 0}
        protocol: {type: string, default: TCP}
        port: {allOf: [{$ref: '#/components/schemas/io.example.IntOrString'}], description: A port.}
        amounts: {type: object, additionalProperties: {$ref: '#/components/schemas/io.example.Quantity'}}
        any: {$ref: '#/components/schemas/io.example.JSON'}
        parts: {type: array, items: {$ref: '#/components/schemas/io.example.Tree'}}
        gone: {$ref: '#/components/schemas/io.example.Gone'}
        secrets:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [name, key]
          items: {allOf: [{$ref: '#/components/schemas/io.example.Ref'}], default: {}}
    io.example.Tree:
      type: object
      properties:
        name: {type: string}
        inner: {type: array, items: {$ref: '#/components/schemas/io.example.Tree'}}
    io.example.Ref: {type: object, required: [key], properties: {name: {type: string, default: ""}, ` +
	`key: {type: string, default: ""}}}
    io.example.Meta: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}}}
    io.example.Empty: {type: object}
    io.example.JSON: {description: Any value.}
    io.example.IntOrString: {format: int-or-string, oneOf: [{type: integer}, {type: string}]}
    io.example.Quantity: {oneOf: [{type: string}, {type: number}]}
    io.example.DeleteOptions:
      type: object
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: DeleteOptions}, ` +
	`{group: a.b, version: v1, kind: DeleteOptions}]
`

const definitionOfThings = `
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing, listKind: ThingList, shortNames: [th], categories: [all]}
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        description: A thing.
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            description: What is wanted.
            properties:
              replicas: {type: integer, format: int32}
              protocol: {type: string, default: TCP}
              port: {x-kubernetes-int-or-string: true, description: A port.}
              amounts: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
              any: {description: Any value., x-kubernetes-preserve-unknown-fields: true}
              gone: {x-kubernetes-preserve-unknown-fields: true}
              secrets:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, key]
                items: {type: object, required: [key], properties: {name: {type: string, default: ""}, ` +
	`key: {type: string}}}
              parts:
                type: array
                items:
                  type: object
                  properties:
                    name: {type: string}
                    inner: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func builtIn(t *testing.T, version, document string) BuiltIn {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return BuiltIn{Version: version, Document: content, Resources: []metav1.APIResource{
		{Name: "things", Kind: "Thing", Namespaced: true, ShortNames: []string{"th"}, Categories: []string{"all"}},
		{Name: "things/status", Kind: "Thing", Namespaced: true},
		{Name: "things/scale", Kind: "Scale", Namespaced: true},
	}}
}

func TestFromOpenAPI(t *testing.T) {
	got, err := FromOpenAPI(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "v1",
		builtIn(t, "v1", openapiOfThings))
	if err != nil {
		t.Fatal(err)
	}
	want := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(definitionOfThings), want); err != nil {
		t.Fatal(err)
	}
	want.SetName("things.example.com")
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	p, err := Project(got, specOf(publishedv1alpha1.SourceResource{}, nil))
	if err != nil || len(p.Repairs) > 0 {
		t.Errorf("what is made of OpenAPI needs no repair, got %v: %v", p.Repairs, err)
	}
}

// TestFromOpenAPIVersions shows which versions a built-in type has, the one that is stored last, and why it has none.
func TestFromOpenAPIVersions(t *testing.T) {
	of := func(version, described string) BuiltIn {
		return builtIn(t, version, "components: {schemas: {a: {type: object, x-kubernetes-group-version-kind: "+
			"[{group: example.com, version: "+described+", kind: Thing}]}}}")
	}
	unread := of("v1", "v1")
	unread.Document = []byte("<html>")
	for reason, tc := range map[string]struct {
		kind     string // Thing by default
		versions []BuiltIn
		want     []string
		fails    Reason // none if it may be readable the next time
	}{
		"The preferred version stores.": {
			versions: []BuiltIn{of("v1", "v1"), of("v1beta1", "v1beta1")}, want: []string{"v1beta1", "v1", "v1beta1"},
		},
		"A type must be described.":       {versions: []BuiltIn{of("v1", "v2")}, fails: NotServed},
		"A type must be served.":          {kind: "Other", versions: []BuiltIn{of("v1", "v1")}, fails: NotServed},
		"A document may become readable.": {versions: []BuiltIn{unread}},
	} {
		kind := schema.GroupKind{Group: "example.com", Kind: cmp.Or(tc.kind, "Thing")}
		crd, err := FromOpenAPI(kind, "v1beta1", tc.versions...)
		var got []string
		if err == nil {
			for _, v := range crd.Spec.Versions {
				got = append(got, v.Name)
			}
			stored, _ := apihelpers.GetCRDStorageVersion(crd)
			got = append(got, stored)
		}
		if diff := gocmp.Diff(tc.want, got); diff != "" || ReasonOf(err) != tc.fails || (err == nil) != (tc.want != nil) {
			t.Errorf("%s %v\n-want, +got:\n%s", reason, err, diff)
		}
	}
}
