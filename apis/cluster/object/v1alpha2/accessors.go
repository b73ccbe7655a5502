package v1alpha2

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Desired returns the desired state both scopes share. It is never nil.
func (mg *Object) Desired() *commonv1.ObjectSpec { return &mg.Spec.ObjectSpec }

// Observed returns what was last seen on the target. It is never nil.
func (mg *Object) Observed() *commonv1.ObjectObservation { return &mg.Status.AtProvider }

// ConnectionSecret returns the namespace and name of the connection secret, empty if there is to be none.
func (mg *Object) ConnectionSecret() types.NamespacedName {
	r := mg.Spec.WriteConnectionSecretToReference
	if r == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// GetManagementPolicies returns the effective management actions: those of managementPolicy unless it is Default, else
// those of managementPolicies, and without Delete if the deletionPolicy is Orphan.
func (mg *Object) GetManagementPolicies() xpv2.ManagementPolicies {
	p := commonv1.EffectivePolicies(mg.Spec.ManagementPolicy, mg.Spec.ManagementPolicies)
	if mg.Spec.DeletionPolicy == xpv2.DeletionOrphan {
		return commonv1.WithoutDelete(p)
	}
	return p
}

// RemoveCondition removes the condition of a type, if there is one.
func (mg *Object) RemoveCondition(t xpv2.ConditionType) { mg.Status.RemoveCondition(t) }
