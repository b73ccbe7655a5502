package projection

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // api-syncagent names schemas by SHA-1, and the names have to be the same.
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"github.com/pkg/errors"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

const (
	// hashLength is the number of hexadecimal digits of the hash in a name.
	hashLength = 8
	// coreGroup stands for the core group, which has no name, at the end of the name of a schema.
	coreGroup = "core"
	// unapproved is the approval of a protected group for a type that has none. Kubernetes wants the first word so.
	unapproved = "unapproved, published from another cluster"
)

// SchemaName returns the name of the APIResourceSchema: v and a hash of the projected CustomResourceDefinition, plural
// name and group.
func (p *Projection) SchemaName() (string, error) {
	hash, err := hashOf(&p.CRD.Spec)
	return "v" + hash + "." + p.CRD.Spec.Names.Plural + "." + cmp.Or(p.CRD.Spec.Group, coreGroup), err
}

// hashOf returns a hash of a definition without its conversion.
func hashOf(s *apiextensionsv1.CustomResourceDefinitionSpec) (string, error) {
	spec := s.DeepCopy()
	spec.Conversion = nil
	b := &bytes.Buffer{}
	// The line break that an Encoder writes at the end is hashed, too.
	if err := json.NewEncoder(b).Encode(spec); err != nil {
		return "", errors.Wrap(err, "cannot encode CustomResourceDefinition")
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // See the import.
	return hex.EncodeToString(sum[:])[:hashLength], nil
}

// Schema returns the APIResourceSchema, which never changes under its name.
func (p *Projection) Schema(agentName string) (*apisv1alpha1.APIResourceSchema, error) {
	name, err := p.SchemaName()
	if err != nil {
		return nil, err
	}
	crd := p.CRD.DeepCopy()
	if len(crd.Spec.Versions) == 1 {
		crd.Spec.Conversion = nil
	}
	prefix, rest, _ := strings.Cut(name, ".")
	crd.SetName(rest)
	out, err := apisv1alpha1.CRDToAPIResourceSchema(crd, prefix)
	if err != nil {
		return nil, errors.Wrap(err, "cannot create APIResourceSchema")
	}
	out.TypeMeta = metav1.TypeMeta{APIVersion: apisv1alpha1.SchemeGroupVersion.String(), Kind: "APIResourceSchema"}
	out.Labels = map[string]string{publishedv1alpha1.LabelKeyAgentName: agentName}
	out.Annotations = map[string]string{
		publishedv1alpha1.AnnotationKeyAgentName:        agentName,
		publishedv1alpha1.AnnotationKeySourceGeneration: strconv.FormatInt(p.CRD.GetGeneration(), 10),
		publishedv1alpha1.AnnotationKeySourceHash:       p.sourceHash,
	}
	if apihelpers.IsProtectedCommunityGroup(p.CRD.Spec.Group) {
		out.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = cmp.Or(
			p.CRD.GetAnnotations()[apiextensionsv1.KubeAPIApprovedAnnotation], unapproved)
	}
	return out, nil
}

// versionName is what kcp wants the name of a version to be. Kubernetes allows others.
var versionName = regexp.MustCompile(`^v[1-9][0-9]*([a-z]+[1-9][0-9]*)?$`)

// VersionOf returns a version of a definition by its name, nil if there is none.
func VersionOf(
	d *apiextensionsv1.CustomResourceDefinition, name string,
) *apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(d.Spec.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Spec.Versions[i]
}

// selectVersions leaves the versions that are selected and served, and sees to it that one is the storage version: the
// source's own, or else the highest in the order Kubernetes has for versions.
func (p *Projection) selectVersions(r publishedv1alpha1.SourceResource) error {
	wanted := r.Versions
	if r.Version != "" {
		wanted = []string{r.Version}
	}
	s := &p.CRD.Spec
	for _, name := range slices.Compact(slices.Sorted(slices.Values(wanted))) {
		switch v := VersionOf(p.CRD, name); {
		case v == nil:
			p.Skipped = append(p.Skipped, fmt.Sprintf("version %s does not exist", name))
		case !v.Served:
			p.Skipped = append(p.Skipped, fmt.Sprintf("version %s is not served", name))
		}
	}
	s.Versions = slices.DeleteFunc(s.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return !v.Served || len(wanted) > 0 && !slices.Contains(wanted, v.Name)
	})
	if len(s.Versions) == 0 {
		return failf(NotServed, "no version of %s can be published: %s", p.Kind().GroupKind(),
			strings.Join(append(p.Skipped, "only served versions can be published"), ", "))
	}
	if !slices.ContainsFunc(s.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }) {
		highest := slices.MaxFunc(s.Versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
			return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
		})
		VersionOf(p.CRD, highest.Name).Storage = true
	}
	return nil
}

// maxWarning is how long a warning about a version may be.
const maxWarning = 256

// findLosses finds the fields that are lost, as kcp stores all objects in one version and converts none: those that
// only one of two versions has, unless the other takes any. kcp is to warn who uses such a version.
func (p *Projection) findLosses() {
	stored := p.Kind().Version
	kept := fieldsOf(map[string]string{}, "", VersionOf(p.CRD, stored).Schema.OpenAPIV3Schema)
	for i := range p.CRD.Spec.Versions {
		v := &p.CRD.Spec.Versions[i]
		has, lost := fieldsOf(map[string]string{}, "", v.Schema.OpenAPIV3Schema), map[string]bool{}
		for _, x := range [][2]map[string]string{{has, kept}, {kept, has}} {
			for path, is := range x[0] {
				parent := path[:max(0, strings.LastIndex(path, "."))]
				_, isOpen := x[1][parent+anyField]
				if _, both := x[1][parent]; both && !isOpen && x[1][path] != is {
					lost[strings.TrimPrefix(path, ".")] = true
				}
			}
		}
		if len(lost) == 0 {
			continue
		}
		fields := firstOf(slices.Collect(maps.Keys(lost)), ", ")
		p.Losses = append(p.Losses, v.Name+": "+fields)
		warning := fmt.Sprintf("use version %s, in which objects are stored: version %s loses %s", stored, v.Name, fields)
		v.Deprecated = true
		v.DeprecationWarning = new(strings.ToValidUTF8(warning[:min(maxWarning, len(warning))], ""))
	}
}

// anyField stands for the fields of an object that its schema does not name.
const anyField = ".*"

// fieldsOf adds the types of the fields of a schema, by their paths.
func fieldsOf(types map[string]string, path string, s *apiextensionsv1.JSONSchemaProps) map[string]string {
	types[path] = cmp.Or(s.Type, "any")
	for name, field := range s.Properties {
		if path != "" || !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			fieldsOf(types, path+"."+name, &field)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		fieldsOf(types, path+".[]", s.Items.Schema)
	}
	switch {
	case s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		types[path+anyField] = "any"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		fieldsOf(types, path+anyField, s.AdditionalProperties.Schema)
	}
	return types
}

// Keep adds versions that have been published and are no more: kcp reads what it stores in a version only while the
// schema has that version. They are not served, so that nothing in them describes or checks anything.
func (p *Projection) Keep(published ...string) {
	for _, name := range published {
		if VersionOf(p.CRD, name) != nil {
			continue
		}
		p.CRD.Spec.Versions = append(p.CRD.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anyObject()},
		})
		p.Skipped = append(p.Skipped, fmt.Sprintf("version %s, which remains for objects that are stored in it", name))
	}
}

// nameVersions gives versions the names they have in kcp. Only if names are mapped they are put in order, the highest
// last.
func (p *Projection) nameVersions(to *publishedv1alpha1.ResourceProjection) error {
	versions := p.CRD.Spec.Versions
	p.Sources = map[string]string{}
	for i := range versions {
		source := versions[i].Name
		name := string(cmp.Or(to.Versions[source], to.Version, publishedv1alpha1.VersionName(source)))
		if other, ok := p.Sources[name]; ok {
			return failf(InvalidVersion, "versions %s and %s cannot both have the name %s", other, source, name)
		}
		if !versionName.MatchString(name) {
			return failf(InvalidVersion, "kcp does not allow version name %s: set another name in projection.versions",
				name)
		}
		p.Sources[name], versions[i].Name = source, name
	}
	if len(to.Versions) > 0 {
		slices.SortFunc(versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
			return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
		})
	}
	return nil
}
