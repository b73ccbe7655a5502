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
	// Document is the OpenAPI v3 document of its group and version.
	Document []byte
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
	d, err := parseDocument(b.Document)
	if err != nil {
		return out, errors.Wrapf(err, "cannot read OpenAPI document of %s", gk.WithVersion(b.Version).GroupVersion())
	}
	s, ok := d.schemaOf(gk.WithVersion(b.Version))
	if !ok {
		return out, failf(NotServed, "the OpenAPI document of %s does not describe %s",
			gk.WithVersion(b.Version).GroupVersion(), gk.Kind)
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

// A document holds the schemas of an OpenAPI v3 document by their names.
type document map[string]struct {
	apiextensionsv1.JSONSchemaProps

	Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

func parseDocument(content []byte) (document, error) {
	var raw struct {
		Components struct {
			Schemas document `json:"schemas"`
		} `json:"components"`
	}
	err := json.Unmarshal(content, &raw)
	return raw.Components.Schemas, errors.Wrap(err, "cannot parse JSON")
}

// schemaOf returns the schema of a kind, without references.
func (d document) schemaOf(gvk schema.GroupVersionKind) (*apiextensionsv1.JSONSchemaProps, bool) {
	for name, s := range d {
		if len(s.Kinds) != 1 || s.Kinds[0] != gvk { // Several belong to types all groups share, such as DeleteOptions.
			continue
		}
		out := d.inline(*s.DeepCopy(), map[string]bool{name: true})
		if out.Properties != nil {
			out.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
		}
		return &out, true
	}
	return nil, false
}

// refPrefix precedes the name of a schema in a reference to it.
const refPrefix = "#/components/schemas/"

// zeroes are the values Go has where nothing is said, by type.
var zeroes = map[string]string{"string": `""`, "integer": `0`, "boolean": `false`}

// inline returns a schema with what it refers to in place of its references. Schemas that are being inlined are open:
// they are not entered again, so that a type that contains itself comes to an end.
func (d document) inline(s apiextensionsv1.JSONSchemaProps, open map[string]bool) apiextensionsv1.JSONSchemaProps {
	if name, ok := reference(s); ok {
		return d.follow(s, name, open)
	}
	for name, p := range s.Properties {
		s.Properties[name] = d.inline(p, open)
	}
	if s.Items != nil && s.Items.Schema != nil {
		s.Items.Schema = new(d.inline(*s.Items.Schema, open))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		s.AdditionalProperties.Schema = new(d.inline(*s.AdditionalProperties.Schema, open))
	}
	return adapt(keyed(s))
}

// keyed gives the keys of a list that is a map the default that Go has for them, if they may be absent: a definition
// wants them to be there.
func keyed(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	if s.Items == nil || s.Items.Schema == nil {
		return s
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
	return s
}

// follow returns what a reference refers to, with what is said beside the reference.
func (d document) follow(s apiextensionsv1.JSONSchemaProps, name string,
	open map[string]bool,
) apiextensionsv1.JSONSchemaProps {
	target, known := d[name]
	var out apiextensionsv1.JSONSchemaProps
	switch {
	case !known:
		out = *anything()
	case open[name] && target.Type == "object":
		out = *anyObject()
	case open[name]:
		out = *anything()
	default:
		inner := maps.Clone(open)
		inner[name] = true
		out = d.inline(*target.DeepCopy(), inner)
	}
	s.Ref, s.AllOf = nil, nil
	return adapt(overlay(out, s))
}

// reference returns the name of the schema that a schema refers to, by itself or as the only part of allOf.
func reference(s apiextensionsv1.JSONSchemaProps) (string, bool) {
	if s.Ref == nil && len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
	if s.Ref == nil {
		return "", false
	}
	return strings.CutPrefix(*s.Ref, refPrefix)
}

// overlay returns a schema with the keywords that another one has.
func overlay(s, with apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	out := s.DeepCopy()
	b, err := json.Marshal(with)
	if err != nil || json.Unmarshal(b, out) != nil {
		return s
	}
	return *out
}

// adapt says in the words of a CustomResourceDefinition what OpenAPI says in others.
func adapt(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
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
	return s
}

// isIntOrString reports whether a value is a text or a number.
func isIntOrString(choices []apiextensionsv1.JSONSchemaProps) bool {
	types := sets.New[string]()
	for _, c := range choices {
		types.Insert(c.Type)
	}
	return types.Has("string") && types.Difference(sets.New("string", "integer", "number")).Len() == 0
}
