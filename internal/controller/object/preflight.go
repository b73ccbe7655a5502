package object

import (
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// AppliedByClient reports whether the status of an Object shows a resource that provider-kubernetes has applied
// client-side, so that its fields change their manager when the Object is taken over.
func AppliedByClient(o Object) bool { return mayApply(o) && appliedByClient(o) }

// HasLongName reports whether the field manager of an Object has a hash in place of the end of its name, which
// provider-kubernetes could not apply.
func HasLongName(o Object) bool {
	return mayApply(o) && fieldManager(o) != commonv1.FieldManagerPrefix+o.GetName()
}

// SeenUID returns the UID of the resource that an Object last saw, empty if it has seen none.
func SeenUID(o Object) types.UID {
	if id := identity(o); id != nil {
		return id.GetUID()
	}
	return ""
}
