package v1alpha1

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// GetCondition returns the condition of a type.
func (a *KubernetesApplication) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return a.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (a *KubernetesApplication) SetConditions(c ...xpv2.Condition) { a.Status.SetConditions(c...) }

// GetProviderConfigReference returns the cluster of the application, nil if it has none.
func (a *KubernetesApplication) GetProviderConfigReference() *xpv2.ProviderConfigReference {
	return a.Spec.ClusterRef.providerConfig()
}

// GetCondition returns the condition of a type.
func (r *KubernetesApplicationResource) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return r.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (r *KubernetesApplicationResource) SetConditions(c ...xpv2.Condition) {
	r.Status.SetConditions(c...)
}

// GetProviderConfigReference returns the cluster of the resource, nil if it has none.
func (r *KubernetesApplicationResource) GetProviderConfigReference() *xpv2.ProviderConfigReference {
	return r.Spec.ClusterRef.providerConfig()
}
