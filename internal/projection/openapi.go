package projection

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
)

// A BuiltIn is what a service cluster says about one version of a type that no CustomResourceDefinition defines.
type BuiltIn struct {
	// Version is the name of the version.
	Version string
	// Resources are those of its group and version, subresources included, as discovery lists them.
	Resources []metav1.APIResource
	// Schema is that of OpenAPI v3 in JSON, with each reference inlined. It is empty if the type is not described.
	Schema []byte
}

// FromOpenAPI returns what would define a built-in type if a CustomResourceDefinition did, with all its versions
// served. The preferred version is the storage version, if it is among the versions. A type that is not there is an
// *Error.
func FromOpenAPI(gk schema.GroupKind, preferred string,
	versions ...BuiltIn,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	out := &apiextensionsv1.CustomResourceDefinition{}
	out.Spec.Group = gk.Group
	out.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	versions = slices.SortedFunc(slices.Values(versions), func(a, b BuiltIn) int {
		return version.CompareKubeAwareVersionStrings(a.Version, b.Version)
	})
	for _, b := range versions {
		i := slices.IndexFunc(b.Resources, func(r metav1.APIResource) bool {
			return r.Kind == gk.Kind && !strings.Contains(r.Name, "/")
		})
		if i < 0 {
			continue
		}
		describe(&out.Spec, b.Resources[i])
		v, err := b.definition(gk, b.Resources[i].Name)
		if err != nil {
			return nil, err
		}
		v.Storage = b.Version == preferred
		out.Spec.Versions = append(out.Spec.Versions, v)
	}
	if len(out.Spec.Versions) == 0 {
		return nil, failf(NotServed, "the service cluster does not serve %s", gk)
	}
	out.SetName(out.Spec.Names.Plural + "." + gk.Group)
	return out, nil
}

// describe sets names and scope.
func describe(s *apiextensionsv1.CustomResourceDefinitionSpec, r metav1.APIResource) {
	s.Scope = apiextensionsv1.ClusterScoped
	if r.Namespaced {
		s.Scope = apiextensionsv1.NamespaceScoped
	}
	s.Names = apiextensionsv1.CustomResourceDefinitionNames{
		Plural:     r.Name,
		Singular:   r.SingularName,
		Kind:       r.Kind,
		ListKind:   r.Kind + "List",
		ShortNames: slices.Clone(r.ShortNames),
		Categories: slices.Clone(r.Categories),
	}
}

// definition returns the version of a type.
func (b BuiltIn) definition(gk schema.GroupKind,
	plural string,
) (apiextensionsv1.CustomResourceDefinitionVersion, error) {
	out := apiextensionsv1.CustomResourceDefinitionVersion{
		Name:         b.Version,
		Served:       true,
		Subresources: &apiextensionsv1.CustomResourceSubresources{},
	}
	if len(b.Schema) == 0 {
		return out, failf(NotServed, "the OpenAPI document of %s does not describe %s",
			gk.WithVersion(b.Version).GroupVersion(), gk.Kind)
	}
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(b.Schema, s); err != nil {
		return out, errors.Wrapf(err, "cannot read the schema of %s", gk.WithVersion(b.Version))
	}
	walk(s, adapt)
	walk(s, keyed)
	if s.Properties != nil {
		s.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
	}
	out.Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: s}
	if b.serves(plural + "/status") {
		out.Subresources.Status = &apiextensionsv1.CustomResourceSubresourceStatus{}
	}
	if b.serves(plural+"/scale") && hasReplicas(s, "spec") && hasReplicas(s, "status") {
		out.Subresources.Scale = &apiextensionsv1.CustomResourceSubresourceScale{
			SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
		}
	}
	return out, nil
}

func (b BuiltIn) serves(name string) bool {
	return slices.ContainsFunc(b.Resources, func(r metav1.APIResource) bool { return r.Name == name })
}

func hasReplicas(s *apiextensionsv1.JSONSchemaProps, field string) bool {
	return s.Properties[field].Properties["replicas"].Type == "integer"
}

// zeroes are the values Go has where nothing is said, by type.
var zeroes = map[string]string{"string": `""`, "integer": `0`, "boolean": `false`}

// keyed gives the keys of a list that is a map the default that Go has for them, if they may be absent: a definition
// wants them to be there.
func keyed(s *apiextensionsv1.JSONSchemaProps) {
	if s.Items == nil || s.Items.Schema == nil {
		return
	}
	item := s.Items.Schema
	for _, key := range s.XListMapKeys {
		p, ok := item.Properties[key]
		zero, scalar := zeroes[p.Type]
		if !ok || !scalar || p.Default != nil || slices.Contains(item.Required, key) {
			continue
		}
		p.Default = &apiextensionsv1.JSON{Raw: []byte(zero)}
		item.Properties[key] = p
	}
}

// adapt says in the words of a CustomResourceDefinition what OpenAPI says in others.
func adapt(s *apiextensionsv1.JSONSchemaProps) {
	if s.Default != nil { // It may only be what Go has where nothing is said.
		value := string(bytes.TrimSpace(s.Default.Raw))
		if value == "{}" || value == "null" || slices.Contains(slices.Collect(maps.Values(zeroes)), value) {
			s.Default = nil
		}
	}
	if s.Type == "" && len(s.Properties) > 0 {
		s.Type = "object"
	}
	switch {
	case s.Format == "int-or-string" || isIntOrString(s.OneOf):
		s.Type, s.Format, s.OneOf, s.XIntOrString = "", "", nil, true
	case s.Type == "object" && s.Properties == nil && s.AdditionalProperties == nil:
		s.XPreserveUnknownFields = new(true)
	case s.Type == "" && !s.XIntOrString:
		s.XPreserveUnknownFields = new(true)
	}
}

// isIntOrString reports whether a value is a text or a number.
func isIntOrString(choices []apiextensionsv1.JSONSchemaProps) bool {
	types := sets.New[string]()
	for _, c := range choices {
		types.Insert(c.Type)
	}
	return types.Has("string") && types.Difference(sets.New("string", "integer", "number")).Len() == 0
}
