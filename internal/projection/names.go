package projection

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// undotted are the groups without a dot that kcp serves.
var undotted = []string{"", "apps", "batch", "extensions", "policy", "autoscaling"}

// nameType gives the type the group, names and scope it has in kcp.
func (p *Projection) nameType(to *publishedv1alpha1.ResourceProjection) error {
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
	if n.Singular == "" {
		n.Singular = strings.ToLower(n.Kind)
	}
	if n.ListKind == "" {
		n.ListKind = n.Kind + "List"
	}
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
