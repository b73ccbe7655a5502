package projection

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // api-syncagent names schemas by SHA-1, and the names have to be the same.
	"encoding/hex"
	"encoding/json"
	"strconv"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

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
