package projection

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // api-syncagent names schemas by SHA-1, and the names have to be the same.
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
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

const (
	// hashLength is the number of hexadecimal digits of the hash in a name.
	hashLength = 8
	// coreGroup stands for the core group, which has no name, at the end of the name of a schema.
	coreGroup = "core"
	// rbacGroup has types whose names may contain colons.
	rbacGroup = "rbac.authorization.k8s.io"
	// pathSegmentName is the rule for such names.
	pathSegmentName = "PathSegmentName"
	// unapproved is the approval of a protected group for a type that has none. Kubernetes wants the first word so.
	unapproved = "unapproved, published from another cluster"
)

// SchemaName returns the name of the APIResourceSchema: v and a hash of the projected CustomResourceDefinition, plural
// name and group.
func (p *Projection) SchemaName() (string, error) {
	spec := p.CRD.Spec.DeepCopy()
	spec.Conversion = nil
	b := &bytes.Buffer{}
	// The line break that an Encoder writes at the end is hashed, too.
	if err := json.NewEncoder(b).Encode(spec); err != nil {
		return "", errors.Wrap(err, "cannot encode CustomResourceDefinition")
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // See the import.
	return "v" + hex.EncodeToString(sum[:])[:hashLength] + "." + spec.Names.Plural + "." +
		cmp.Or(spec.Group, coreGroup), nil
}

// Schema returns the APIResourceSchema, which never changes under its name.
func (p *Projection) Schema(agentName string) (*apisv1alpha1.APIResourceSchema, error) {
	name, err := p.SchemaName()
	if err != nil {
		return nil, err
	}
	out := &apisv1alpha1.APIResourceSchema{
		TypeMeta: metav1.TypeMeta{APIVersion: apisv1alpha1.SchemeGroupVersion.String(), Kind: "APIResourceSchema"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{publishedv1alpha1.LabelKeyAgentName: agentName},
			Annotations: map[string]string{
				publishedv1alpha1.AnnotationKeyAgentName:        agentName,
				publishedv1alpha1.AnnotationKeySourceGeneration: strconv.FormatInt(p.CRD.GetGeneration(), 10),
			},
		},
		Spec: apisv1alpha1.APIResourceSchemaSpec{
			Group: p.CRD.Spec.Group,
			Names: *p.CRD.Spec.Names.DeepCopy(),
			Scope: p.CRD.Spec.Scope,
		},
	}
	if apihelpers.IsProtectedCommunityGroup(p.CRD.Spec.Group) {
		out.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = cmp.Or(
			p.CRD.GetAnnotations()[apiextensionsv1.KubeAPIApprovedAnnotation], unapproved)
	}
	if p.source.Group == rbacGroup {
		out.Spec.NameValidation = pathSegmentName
	}
	if len(p.CRD.Spec.Versions) > 1 {
		out.Spec.Conversion = &apisv1alpha1.CustomResourceConversion{
			Strategy: apisv1alpha1.ConversionStrategyType(apiextensionsv1.NoneConverter),
		}
	}
	for _, v := range p.CRD.Spec.Versions {
		version, err := schemaVersion(v)
		if err != nil {
			return nil, err
		}
		out.Spec.Versions = append(out.Spec.Versions, version)
	}
	return out, nil
}

func schemaVersion(v apiextensionsv1.CustomResourceDefinitionVersion) (apisv1alpha1.APIResourceVersion, error) {
	out := apisv1alpha1.APIResourceVersion{
		Name:                     v.Name,
		Served:                   v.Served,
		Storage:                  v.Storage,
		Deprecated:               v.Deprecated,
		DeprecationWarning:       v.DeprecationWarning,
		AdditionalPrinterColumns: v.AdditionalPrinterColumns,
	}
	if v.Subresources != nil {
		out.Subresources = *v.Subresources.DeepCopy()
	}
	return out, errors.Wrapf(out.SetSchema(v.Schema.OpenAPIV3Schema), "cannot encode schema of version %s", v.Name)
}
