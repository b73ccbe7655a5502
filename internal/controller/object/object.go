package object

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// An Object of either scope.
type Object interface {
	resource.Managed
	// Desired returns the desired state, never nil.
	Desired() *commonv1.ObjectSpec
	// Observed returns what was last seen on the target, never nil.
	Observed() *commonv1.ObjectObservation
	// ConnectionSecret returns the namespace and name of the connection secret, empty if there is to be none.
	ConnectionSecret() types.NamespacedName
	// RemoveCondition removes the condition of a type, if there is one.
	RemoveCondition(t xpv2.ConditionType)
}
