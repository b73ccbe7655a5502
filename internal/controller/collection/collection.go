package collection

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// A Collection is an ObservedObjectCollection of either scope.
type Collection interface {
	client.Object
	resource.Conditioned
	// Desired returns the desired state, never nil.
	Desired() *commonv1.ObservedObjectCollectionSpec
	// Observed returns the observed state, never nil.
	Observed() *commonv1.ObservedObjectCollectionStatus
}

// An object is an Object of either scope.
type object interface {
	client.Object
	Desired() *commonv1.ObjectSpec
	GetManagementPolicies() xpv2.ManagementPolicies
}
