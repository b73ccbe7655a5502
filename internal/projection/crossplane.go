package projection

import (
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

// platformFields are the paths of the fields that any version of Crossplane adds to claims, and to composites that have
// no spec.crossplane.
var platformFields = []string{
	"spec.claimRef", "spec.compositeDeletePolicy", "spec.compositionRef", "spec.compositionRevisionRef",
	"spec.compositionRevisionSelector", "spec.compositionSelector", "spec.compositionUpdatePolicy",
	"spec.environmentConfigRefs", "spec.publishConnectionDetailsTo", "spec.resourceRef", "spec.resourceRefs",
	"spec.writeConnectionSecretToRef", "status.claimConditionTypes", "status.connectionDetails",
}

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
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			out = append(out, hiddenPaths(v.Schema.OpenAPIV3Schema.Properties, shown)...)
		}
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

// hiddenPaths returns the paths of the fields of Crossplane in a type that are not shown.
func hiddenPaths(has map[string]apiextensionsv1.JSONSchemaProps, shown []publishedv1alpha1.CrossplaneField,
) (out []string) {
	isShown := func(name string) bool { return slices.Contains(shown, publishedv1alpha1.CrossplaneField(name)) }
	own := has["spec"].Properties[crossplaneField].Properties
	if _, is := own["compositionRef"]; !is { // Then spec.crossplane is an author's.
		return slices.DeleteFunc(slices.Clone(platformFields), func(path string) bool {
			part, name, _ := strings.Cut(path, ".")
			_, is := has[part].Properties[name]
			return !is || part == "spec" && isShown(name)
		})
	}
	if _, is := has["status"].Properties[crossplaneField]; is {
		out = append(out, "status."+crossplaneField)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(own)), isShown) {
		return append(out, "spec."+crossplaneField)
	}
	for name := range own {
		if !isShown(name) {
			out = append(out, "spec."+crossplaneField+"."+name)
		}
	}
	return out
}

// leadsInto reports whether a JSON path of a column leads to a field or into it.
func leadsInto(column, path string) bool {
	rest, ok := strings.CutPrefix(column, "."+path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// hide takes a field out of a schema. Rules in CEL that name it do not compile any more, and defaults that have it are
// not of the schema: they are taken away with all that kcp refuses.
func hide(s *apiextensionsv1.JSONSchemaProps, path []string) {
	if p, ok := s.Properties[path[0]]; ok && len(path) > 1 {
		hide(&p, path[1:])
		s.Properties[path[0]] = p
		return
	}
	delete(s.Properties, path[0])
	s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == path[0] })
}
