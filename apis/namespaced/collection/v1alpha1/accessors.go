package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Desired returns the desired state both scopes share. It is never nil.
func (c *ObservedObjectCollection) Desired() *commonv1.ObservedObjectCollectionSpec {
	return &c.Spec.ObservedObjectCollectionSpec
}

// Observed returns the observed state. It is never nil.
func (c *ObservedObjectCollection) Observed() *commonv1.ObservedObjectCollectionStatus {
	return &c.Status
}

// GetProviderConfigReference returns which ProviderConfig the collection uses, nil if it names none.
func (c *ObservedObjectCollection) GetProviderConfigReference() *xpv2.ProviderConfigReference {
	return c.Spec.ProviderConfigReference
}

// GetCondition returns a condition, of status Unknown if there is none of the type.
func (c *ObservedObjectCollection) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return c.Status.GetCondition(t)
}

// SetConditions sets conditions, and keeps others.
func (c *ObservedObjectCollection) SetConditions(conditions ...xpv2.Condition) {
	c.Status.SetConditions(conditions...)
}
