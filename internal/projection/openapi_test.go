package projection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	p, err := Project(got, specOf(publishedv1alpha1.SourceResource{}, nil))
	if err != nil || len(p.Repairs) > 0 {
		t.Errorf("what is made of OpenAPI needs no repair, got %v: %v", p.Repairs, err)
	}
}

func TestFromOpenAPIVersions(t *testing.T) {
	document := func(version string) string {
		return "components: {schemas: {a: {type: object, " +
			"x-kubernetes-group-version-kind: [{group: example.com, version: " + version + ", kind: Thing}]}}}"
	}
	thing := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	type want struct {
		Versions []string
		Storage  string
		Reason   Reason
		Err      bool
	}
	for name, tc := range map[string]struct {
		reason    string
		kind      schema.GroupKind
		preferred string
		versions  []BuiltIn
		want      want
	}{
		"Preferred": {
			reason:    "The preferred version stores.",
			kind:      thing,
			preferred: "v1beta1",
			versions:  []BuiltIn{builtIn(t, "v1", document("v1")), builtIn(t, "v1beta1", document("v1beta1"))},
			want:      want{Versions: []string{"v1beta1", "v1"}, Storage: "v1beta1"},
		},
		"Undescribed": {
			reason:    "A type must be described.",
			kind:      thing,
			preferred: "v1",
			versions:  []BuiltIn{builtIn(t, "v1", document("v2"))},
			want:      want{Reason: NotServed, Err: true},
		},
		"Unserved": {
			reason:    "A type must be served.",
			kind:      schema.GroupKind{Group: "example.com", Kind: "Other"},
			preferred: "v1",
			versions:  []BuiltIn{builtIn(t, "v1", document("v1"))},
			want:      want{Reason: NotServed, Err: true},
		},
		"NotJSON": {
			reason:    "A document that cannot be read may be readable the next time.",
			kind:      thing,
			preferred: "v1",
			versions: []BuiltIn{{
				Version: "v1", Resources: builtIn(t, "v1", "{}").Resources, Document: []byte("<html>"),
			}},
			want: want{Err: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd, err := FromOpenAPI(tc.kind, tc.preferred, tc.versions...)
			got := want{Reason: ReasonOf(err), Err: err != nil}
			if crd != nil {
				for _, v := range crd.Spec.Versions {
					got.Versions = append(got.Versions, v.Name)
					if v.Storage {
						got.Storage += v.Name
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%v\n-want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
