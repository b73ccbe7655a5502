package v1alpha1

import (
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// ManagementPolicy is the management policy of Object v1alpha1: one word for a set of management actions.
type ManagementPolicy string

const (
	// ManagementPolicyDefault manages the resource fully.
	ManagementPolicyDefault ManagementPolicy = "Default"
	// ManagementPolicyObserveCreateUpdate manages the resource but never deletes it.
	ManagementPolicyObserveCreateUpdate ManagementPolicy = "ObserveCreateUpdate"
	// ManagementPolicyObserveDelete observes the resource and deletes it with the Object, but never creates
	// or changes it.
	ManagementPolicyObserveDelete ManagementPolicy = "ObserveDelete"
	// ManagementPolicyObserve only observes the resource.
	ManagementPolicyObserve ManagementPolicy = "Observe"
)

// EffectivePolicies returns the management actions that a managementPolicy and managementPolicies give
// together. A policy other than Default decides; otherwise, and for an unknown policy, the policies do. It
// never changes its arguments.
func EffectivePolicies(policy ManagementPolicy, policies xpv2.ManagementPolicies) xpv2.ManagementPolicies {
	switch policy {
	case ManagementPolicyObserveCreateUpdate:
		return xpv2.ManagementPolicies{
			xpv2.ManagementActionObserve, xpv2.ManagementActionCreate, xpv2.ManagementActionUpdate,
		}
	case ManagementPolicyObserveDelete:
		return xpv2.ManagementPolicies{xpv2.ManagementActionObserve, xpv2.ManagementActionDelete}
	case ManagementPolicyObserve:
		return xpv2.ManagementPolicies{xpv2.ManagementActionObserve}
	case ManagementPolicyDefault:
		return policies
	}
	return policies
}

// WithoutDelete returns management actions without Delete, as deletionPolicy Orphan makes them. The action *
// stays as it is: crossplane-runtime does not take it for Delete where the deletionPolicy is Orphan. It never
// changes its argument.
func WithoutDelete(policies xpv2.ManagementPolicies) xpv2.ManagementPolicies {
	return slices.DeleteFunc(slices.Clone(policies),
		func(a xpv2.ManagementAction) bool { return a == xpv2.ManagementActionDelete })
}
