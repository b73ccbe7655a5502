package projection

import (
	"fmt"

	"github.com/pkg/errors"
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
	// Versions are the published versions, in the order of the CRD.
	Versions []Version
	// Skipped names what the PublishedResource selects or has published and is not published, each with the reason.
	Skipped []string
	// Repairs says what of the schemas had to change, sorted. It is empty as a rule.
	Repairs []string
	// PlatformFields are the paths of fields that belong to the platform, such as spec.crossplane, sorted. The schemas do
	// not have them, and consumers have no say in them.
	PlatformFields []string

	source schema.GroupKind
}

// A Version is one that is published.
type Version struct {
	// Source is its name on the service cluster, Name that in kcp.
	Source, Name string
	// Storage reports whether kcp stores objects in it. Exactly one does.
	Storage bool
}

// Project returns what kcp is to serve of a CustomResourceDefinition, which it does not change. It compiles each CEL
// rule of each version, which takes up to a second: keep the result while neither argument changes. An API that cannot
// be published is an *Error.
func Project(crd *apiextensionsv1.CustomResourceDefinition,
	spec *publishedv1alpha1.PublishedResourceSpec,
) (*Projection, error) {
	p := &Projection{
		CRD:    bare(crd),
		source: schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind},
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
	if err := p.nameType(projected); err != nil {
		return nil, err
	}
	p.PlatformFields = PlatformFields(crd, projected.CrossplaneFields...)
	p.hidePlatformFields()
	if err := p.sanitize(); err != nil {
		return nil, err
	}
	return p, p.fit()
}

// Resource returns group and plural name in kcp, as an APIExport lists them.
func (p *Projection) Resource() schema.GroupResource {
	return schema.GroupResource{Group: p.CRD.Spec.Group, Resource: p.CRD.Spec.Names.Plural}
}

// Kind returns group, storage version and kind in kcp.
func (p *Projection) Kind() schema.GroupVersionKind {
	for _, v := range p.Versions {
		if v.Storage {
			return schema.GroupVersionKind{Group: p.CRD.Spec.Group, Version: v.Name, Kind: p.CRD.Spec.Names.Kind}
		}
	}
	return schema.GroupVersionKind{}
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

// A Reason says in one word why an API cannot be published.
type Reason string

const (
	// NotServed means that the service cluster does not serve what is to be published.
	NotServed Reason = "NotServed"
	// InvalidVersion means that the choice or the names of versions cannot be.
	InvalidVersion Reason = "InvalidVersion"
	// InvalidName means that kcp serves no API of such a name.
	InvalidName Reason = "InvalidProjectedName"
	// InvalidSchema means that kcp would refuse the schema, and that it cannot be repaired.
	InvalidSchema Reason = "InvalidSchema"
	// TooLarge means that kcp could not store the schema.
	TooLarge Reason = "SchemaTooLarge"
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
