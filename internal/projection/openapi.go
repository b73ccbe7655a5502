package projection

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
// served. The preferred version is the storage version; if it is not among the versions, the highest one is. A type
// that is not there is an *Error.
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
	last := len(out.Spec.Versions) - 1
	if last < 0 {
		return nil, failf(NotServed, "the service cluster does not serve %s", gk)
	}
	if !slices.ContainsFunc(out.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }) {
		out.Spec.Versions[last].Storage = true
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
	if s.Names.Singular == "" {
		s.Names.Singular = strings.ToLower(r.Kind)
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
type document struct {
	schemas map[string]apiextensionsv1.JSONSchemaProps
	kinds   map[schema.GroupVersionKind]string // The name of the schema of each kind.
}

func parseDocument(content []byte) (document, error) {
	var raw struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	d := document{schemas: map[string]apiextensionsv1.JSONSchemaProps{}, kinds: map[schema.GroupVersionKind]string{}}
	if err := json.Unmarshal(content, &raw); err != nil {
		return d, errors.Wrap(err, "cannot parse JSON")
	}
	for name, content := range raw.Components.Schemas {
		var s struct {
			apiextensionsv1.JSONSchemaProps

			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(content, &s); err != nil {
			return d, errors.Wrapf(err, "cannot parse schema %s", name)
		}
		d.schemas[name] = s.JSONSchemaProps
		if len(s.Kinds) == 1 { // Several belong to types all groups share, such as DeleteOptions.
			d.kinds[s.Kinds[0]] = name
		}
	}
	return d, nil
}

// schemaOf returns the schema of a kind, without references.
func (d document) schemaOf(gvk schema.GroupVersionKind) (*apiextensionsv1.JSONSchemaProps, bool) {
	name, ok := d.kinds[gvk]
	if !ok {
		return nil, false
	}
	s := d.schemas[name]
	out := d.inline(*s.DeepCopy(), map[string]bool{name: true})
	if out.Properties != nil {
		out.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
	}
	return &out, true
}
