package projection

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A Projection is what kcp is to serve of an API.
type Projection struct {
	// CRD is what the API would be defined by in kcp. Of its metadata only the name, the generation of the source and
	// the annotation about the approval of protected groups are set.
	CRD *apiextensionsv1.CustomResourceDefinition
	// Sources are the names on the service cluster of the published versions, by their names in kcp.
	Sources map[string]string
	// Skipped names what the PublishedResource selects or has published and is not published, each with the reason.
	Skipped []string
	// Repairs says what of the schemas had to change, sorted. It is empty as a rule.
	Repairs []string
	// Losses are the fields of versions that are lost, as kcp converts nothing: those that they and the version that is
	// stored do not share.
	Losses []string
	// PlatformFields are the paths of fields that belong to the platform, such as spec.crossplane, sorted. The schemas do
	// not have them, and consumers have no say in them.
	PlatformFields []string

	sourceHash string
}

// Project returns what kcp is to serve of a CustomResourceDefinition, which it does not change. It compiles each CEL
// rule of each version, which takes up to a second: keep the result while neither argument changes. An API that cannot
// be published is an *Error.
func Project(crd *apiextensionsv1.CustomResourceDefinition,
	spec *publishedv1alpha1.PublishedResourceSpec,
) (*Projection, error) {
	p := &Projection{CRD: bare(crd)}
	var err error
	if p.sourceHash, err = hashOf(&p.CRD.Spec); err != nil {
		return nil, err
	}
	projected := spec.Projection
	if projected == nil {
		projected = &publishedv1alpha1.ResourceProjection{}
	}
	if err := p.selectVersions(spec.Resource); err != nil {
		return nil, err
	}
	if err := p.nameVersions(projected); err != nil {
		return nil, err
	}
	p.nameType(projected)
	p.PlatformFields = PlatformFields(crd, projected.CrossplaneFields...)
	p.hidePlatformFields()
	if err := p.sanitize(); err != nil {
		return nil, err
	}
	if c := crd.Spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		p.findLosses()
	}
	return p, nil
}

// Resource returns group and plural name in kcp, as an APIExport lists them.
func (p *Projection) Resource() schema.GroupResource {
	return schema.GroupResource{Group: p.CRD.Spec.Group, Resource: p.CRD.Spec.Names.Plural}
}

// Kind returns group, storage version and kind in kcp.
func (p *Projection) Kind() schema.GroupVersionKind {
	stored, _ := apihelpers.GetCRDStorageVersion(p.CRD) // There is one: see selectVersions.
	return schema.GroupVersionKind{Group: p.CRD.Spec.Group, Version: stored, Kind: p.CRD.Spec.Names.Kind}
}

// bare returns a copy of a CustomResourceDefinition without what says nothing about the API.
func bare(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{
			APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition",
		},
		ObjectMeta: metav1.ObjectMeta{Name: crd.GetName(), Generation: crd.GetGeneration()},
	}
	crd.Spec.DeepCopyInto(&out.Spec)
	out.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if v, ok := crd.GetAnnotations()[apiextensionsv1.KubeAPIApprovedAnnotation]; ok {
		out.SetAnnotations(map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: v})
	}
	return out
}

// nameType gives the type the group, names and scope it has in kcp.
func (p *Projection) nameType(to *publishedv1alpha1.ResourceProjection) {
	s := &p.CRD.Spec
	if to.Group != "" {
		s.Group = to.Group
	}
	if to.Scope != "" {
		s.Scope = apiextensionsv1.ResourceScope(to.Scope)
	}
	n := &s.Names
	if to.Kind != "" {
		n.Kind, n.ListKind, n.Singular = to.Kind, to.Kind+"List", strings.ToLower(to.Kind)
		n.Plural = n.Singular + "s"
	}
	if to.Plural != "" {
		n.Plural = strings.ToLower(to.Plural)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(s)
	if to.ShortNames != nil {
		n.ShortNames = slices.Clone(to.ShortNames)
	}
	if to.Categories != nil {
		n.Categories = slices.Clone(to.Categories)
	}
	p.CRD.SetName(n.Plural + "." + s.Group)
}

// A Reason says in one word why an API cannot be published.
type Reason string

const (
	// NotServed means that the service cluster does not serve what is to be published.
	NotServed Reason = "NotServed"
	// InvalidVersion means that the choice or the names of versions cannot be.
	InvalidVersion Reason = "InvalidVersion"
	// InvalidSchema means that kcp would refuse the schema, and that it cannot be repaired.
	InvalidSchema Reason = "InvalidSchema"
)

// An Error means that an API cannot be published until it or the PublishedResource is changed.
type Error struct {
	Reason  Reason
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ReasonOf returns the reason of an Error that caused err, empty if none did.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func failf(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Message: fmt.Sprintf(format, args...)}
}

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
