package projection

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// undotted are the groups without a dot that kcp serves.
var undotted = []string{"", "apps", "batch", "extensions", "policy", "autoscaling"}

// nameType gives the type the group, names and scope it has in kcp.
func (p *Projection) nameType(to *publishedv1alpha1.ResourceProjection) error {
	s := &p.CRD.Spec
	s.Group = cmp.Or(to.Group, s.Group)
	s.Scope = cmp.Or(apiextensionsv1.ResourceScope(to.Scope), s.Scope)
	n := &s.Names
	if to.Kind != "" {
		n.Kind, n.ListKind, n.Singular = to.Kind, to.Kind+"List", strings.ToLower(to.Kind)
		n.Plural = n.Singular + "s"
	}
	n.Plural = cmp.Or(strings.ToLower(to.Plural), n.Plural)
	n.Singular = cmp.Or(n.Singular, strings.ToLower(n.Kind))
	n.ListKind = cmp.Or(n.ListKind, n.Kind+"List")
	if to.ShortNames != nil {
		n.ShortNames = slices.Clone(to.ShortNames)
	}
	if to.Categories != nil {
		n.Categories = slices.Clone(to.Categories)
	}
	p.CRD.SetName(n.Plural + "." + s.Group)
	return checkNames(s.Group, n)
}

// checkNames says which name kcp would refuse.
func checkNames(group string, n *apiextensionsv1.CustomResourceDefinitionNames) error {
	if !slices.Contains(undotted, group) && !strings.Contains(group, ".") {
		return failf(InvalidName, "kcp serves no group %s without a dot: set projection.group", group)
	}
	if problems := utilvalidation.IsDNS1123Subdomain(group); group != "" && len(problems) > 0 {
		return failf(InvalidName, "group %s: %s", group, strings.Join(problems, ", "))
	}
	names := apiextensions.CustomResourceDefinitionNames(*n)
	if problems := validation.ValidateCustomResourceDefinitionNames(&names, nil); len(problems) > 0 {
		return failf(InvalidName, "%s", problems.ToAggregate())
	}
	return nil
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

// Serves reports whether the objects of a definition can be read in a version.
func Serves(d *apiextensionsv1.CustomResourceDefinition, version string) bool {
	v := VersionOf(d, version)
	return v != nil && v.Served
}

// selectVersions leaves the versions that are selected and served, and sees to it that one is the storage version: the
// source's own, or else the highest in the order Kubernetes has for versions.
func (p *Projection) selectVersions(r publishedv1alpha1.SourceResource) error {
	if r.Version != "" && len(r.Versions) > 0 {
		return failf(InvalidVersion, "resource.version and resource.versions cannot both be set")
	}
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
		return failf(NotServed, "no version of %s can be published: %s", p.source,
			strings.Join(append(p.Skipped, "only served versions can be"), ", "))
	}
	if !slices.ContainsFunc(s.Versions,
		func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }) {
		highest := slices.MaxFunc(s.Versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
			return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
		})
		VersionOf(p.CRD, highest.Name).Storage = true
	}
	for _, v := range s.Versions {
		p.Versions = append(p.Versions, Version{Source: v.Name, Name: v.Name, Storage: v.Storage})
	}
	return nil
}

// Keep adds versions that have been published and are no more: kcp reads what it stores in a version only while the
// schema has that version. They are not served, so that nothing in them describes or checks anything.
func (p *Projection) Keep(published []apisv1alpha1.APIResourceVersion) error {
	for _, v := range published {
		if VersionOf(p.CRD, v.Name) != nil {
			continue
		}
		is := &apiextensionsv1.JSONSchemaProps{}
		if err := json.Unmarshal(v.Schema.Raw, is); err != nil {
			return failf(InvalidSchema, "cannot read the published schema of version %s: %v", v.Name, err)
		}
		walk(is, func(s *apiextensionsv1.JSONSchemaProps) { s.Description, s.XValidations = "", nil })
		p.CRD.Spec.Versions = append(p.CRD.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v.Name, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: is},
		})
		p.Skipped = append(p.Skipped, fmt.Sprintf("version %s, which stays for objects that are stored in it", v.Name))
	}
	return p.fit()
}

// nameVersions gives versions the names they have in kcp. Only if names are mapped they are put in order, the highest
// last.
func (p *Projection) nameVersions(to *publishedv1alpha1.ResourceProjection) error {
	switch {
	case to.Version != "" && len(to.Versions) > 0:
		return failf(InvalidVersion, "projection.version and projection.versions cannot both be set")
	case to.Version != "" && len(p.Versions) > 1:
		return failf(InvalidVersion, "%d versions cannot have the one name %s: use projection.versions",
			len(p.Versions), to.Version)
	case to.Version != "":
		p.Versions[0].Name = string(to.Version)
	}
	known := map[string]string{}
	for i, v := range p.Versions {
		if name := to.Versions[v.Source]; name != "" {
			v.Name = string(name)
		}
		if other, ok := known[v.Name]; ok {
			return failf(InvalidVersion, "versions %s and %s cannot both have the name %s", other, v.Source, v.Name)
		}
		if !versionName.MatchString(v.Name) {
			return failf(InvalidVersion, "kcp serves no version of the name %s: give it another one in projection.versions",
				v.Name)
		}
		known[v.Name] = v.Source
		p.Versions[i] = v
		p.CRD.Spec.Versions[i].Name = v.Name
	}
	if len(to.Versions) > 0 {
		slices.SortFunc(p.CRD.Spec.Versions, func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
			return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
		})
		slices.SortFunc(p.Versions, func(a, b Version) int {
			return version.CompareKubeAwareVersionStrings(a.Name, b.Name)
		})
	}
	return nil
}
