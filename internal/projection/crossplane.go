package projection

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// compositeDefinition is the kind that controls each CustomResourceDefinition that Crossplane makes.
var compositeDefinition = schema.GroupKind{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition"}

// crossplaneField is where composites of Crossplane 2 have all that is Crossplane's.
const crossplaneField = "crossplane"

// The fields that Crossplane adds to the spec of claims, and to that of composites that have no spec.crossplane. It
// overwrites fields of these names that an author has.
var (
	anyFields = []string{
		"compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector",
		"compositionUpdatePolicy", "writeConnectionSecretToRef",
	}
	claimFields     = append(slices.Clone(anyFields), "compositeDeletePolicy", "resourceRef")
	compositeFields = append(slices.Clone(anyFields), "claimRef", "resourceRefs")
	statusFields    = []string{"claimConditionTypes", "connectionDetails"}
)

// formerFields are those that versions of Crossplane 1 add, each with a field in it. In others an author may have
// fields of these names.
var formerFields = map[string]string{"publishConnectionDetailsTo": "configRef", "environmentConfigRefs": "apiVersion"}

// PlatformFields returns the paths of the fields of a type that belong to the platform, sorted: those of Crossplane, in
// any version, if Crossplane has made the type, but for those that are shown.
func PlatformFields(crd *apiextensionsv1.CustomResourceDefinition,
	shown ...publishedv1alpha1.CrossplaneField,
) []string {
	owner := metav1.GetControllerOf(crd)
	if owner == nil || schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != compositeDefinition {
		return nil
	}
	if slices.Contains(shown, publishedv1alpha1.CrossplaneFieldsAll) {
		return nil
	}
	var out []string
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		out = append(out, hiddenPaths(v.Schema.OpenAPIV3Schema, owner.Name != crd.GetName(), shown)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hidePlatformFields takes the fields of the platform out of each version.
func (p *Projection) hidePlatformFields() {
	for i := range p.CRD.Spec.Versions {
		v := &p.CRD.Spec.Versions[i]
		for _, path := range p.PlatformFields {
			if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
				hide(v.Schema.OpenAPIV3Schema, strings.Split(path, "."))
			}
			v.AdditionalPrinterColumns = slices.DeleteFunc(v.AdditionalPrinterColumns,
				func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return leadsInto(c.JSONPath, path) })
		}
	}
}

// hiddenPaths returns the paths of the fields of Crossplane in a schema that are not shown.
func hiddenPaths(s *apiextensionsv1.JSONSchemaProps, isClaim bool,
	shown []publishedv1alpha1.CrossplaneField,
) []string {
	isShown := func(name string) bool { return slices.Contains(shown, publishedv1alpha1.CrossplaneField(name)) }
	spec, status := s.Properties["spec"].Properties, s.Properties["status"].Properties
	own := spec[crossplaneField]
	// That is Crossplane's if it has these fields. It always does.
	if !isClaim && hasField(own, "compositionRef") && hasField(own, "resourceRefs") {
		return append(hiddenBelow(own, isShown), pathsIn("status.", status, crossplaneField)...)
	}
	names := slices.Clone(compositeFields)
	if isClaim {
		names = slices.Clone(claimFields)
	}
	for name, key := range formerFields {
		if hasField(spec[name], key) {
			names = append(names, name)
		}
	}
	names = slices.DeleteFunc(names, isShown)
	return append(pathsIn("spec.", spec, names...), pathsIn("status.", status, statusFields...)...)
}

// hiddenBelow returns the paths of the hidden fields of spec.crossplane: that of all of it if none is shown.
func hiddenBelow(s apiextensionsv1.JSONSchemaProps, isShown func(string) bool) []string {
	all := slices.Collect(maps.Keys(s.Properties))
	if !slices.ContainsFunc(all, isShown) {
		return []string{"spec." + crossplaneField}
	}
	return pathsIn("spec."+crossplaneField+".", s.Properties, slices.DeleteFunc(all, isShown)...)
}

// hasField reports whether an object, or the items of a list, have a field.
func hasField(s apiextensionsv1.JSONSchemaProps, name string) bool {
	if s.Items != nil && s.Items.Schema != nil {
		s = *s.Items.Schema
	}
	_, ok := s.Properties[name]
	return ok
}

// pathsIn returns the paths of those fields that a part of an object has.
func pathsIn(part string, has map[string]apiextensionsv1.JSONSchemaProps, names ...string) (out []string) {
	for _, name := range names {
		if _, ok := has[name]; ok {
			out = append(out, part+name)
		}
	}
	return out
}

// leadsInto reports whether a JSON path of a column leads to a field or into it.
func leadsInto(column, path string) bool {
	rest, ok := strings.CutPrefix(column, "."+path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// hide takes a field out of a schema, and what asks for it: no consumer could give it. Rules in CEL that name it do not
// compile any more, and defaults that have it are not of the schema: they are taken away with all that kcp refuses.
func hide(s *apiextensionsv1.JSONSchemaProps, path []string) {
	name := path[len(path)-1]
	s.AllOf = slices.DeleteFunc(s.AllOf, func(s apiextensionsv1.JSONSchemaProps) bool { return mentions(s, name) })
	if mentions(s.AnyOf, name) {
		s.AnyOf = nil
	}
	if mentions(s.OneOf, name) {
		s.OneOf = nil
	}
	if mentions(s.Not, name) {
		s.Not = nil
	}
	if p, ok := s.Properties[path[0]]; ok && len(path) > 1 {
		hide(&p, path[1:])
		s.Properties[path[0]] = p
		return
	}
	delete(s.Properties, path[0])
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == path[0] })
}

// mentions reports whether a restriction has the name of a field in it. No author has another field of that name.
func mentions(restriction any, name string) bool {
	b, err := json.Marshal(restriction)
	return err != nil || bytes.Contains(b, []byte(`"`+name+`"`))
}
