package v1alpha1

import (
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// GetManagementPolicies returns the effective management actions: those of managementPolicies, without Delete if the
// deletionPolicy is Orphan.
func (mg *PublishedResource) GetManagementPolicies() xpv2.ManagementPolicies {
	if mg.Spec.DeletionPolicy == xpv2.DeletionOrphan {
		return commonv1.WithoutDelete(mg.Spec.ManagementPolicies)
	}
	return mg.Spec.ManagementPolicies
}

// GetProviderConfigReference returns the name of the ClusterProviderConfig, nil if none is named. With this form of the
// reference a PublishedResource is a LegacyManaged of crossplane-runtime, whose deletionPolicy counts.
func (mg *PublishedResource) GetProviderConfigReference() *xpv2.Reference {
	if r := mg.Spec.ProviderConfigReference; r != nil {
		return &xpv2.Reference{Name: r.Name}
	}
	return nil
}

// SetProviderConfigReference names the ClusterProviderConfig.
func (mg *PublishedResource) SetProviderConfigReference(r *xpv2.Reference) {
	mg.Spec.ProviderConfigReference = nil
	if r != nil {
		mg.Spec.ProviderConfigReference = &ConfigReference{Name: r.Name}
	}
}

// Name returns the identifier, or its default.
func (r *RelatedResource) Name() string {
	if r.Identifier != "" {
		return r.Identifier
	}
	return strings.ToLower(r.Kind)
}

// Located returns how the objects are found and named, whichever form says so. It is never nil.
func (r *RelatedResource) Located() *RelatedResourceObject {
	if r.Object != nil {
		return r.Object
	}
	o := &RelatedResourceObject{}
	if r.Reference == nil {
		return o
	}
	o.Reference = &r.Reference.Name
	if r.Reference.Namespace != nil {
		o.Namespace = &RelatedResourceObjectSpec{Reference: r.Reference.Namespace}
	}
	return o
}
