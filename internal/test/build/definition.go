package build

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind returns the kind of a plural that ends in s.
func Kind(plural string) string { return strings.ToUpper(plural[:1]) + plural[1:len(plural)-1] }

// Definition returns a CustomResourceDefinition of a namespaced kind, of version v1. Its spec has strings: size and
// further fields. Its status is a subresource.
func Definition(group, plural string, fields ...string) *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	properties := map[string]apiextensionsv1.JSONSchemaProps{"size": text}
	for _, f := range fields {
		properties[f] = text
	}
	kind := Kind(plural)
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group}}
	d.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{
			Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
		},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Subresources: &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
			},
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"spec":   {Type: "object", Properties: properties},
					"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"phase": text}},
				},
			}},
		}},
	}
	return d
}
