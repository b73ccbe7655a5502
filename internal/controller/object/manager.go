package object

import (
	"crypto/sha256"
	"encoding/hex"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// fieldManagerMax is the length of the longest field manager that API servers accept.
const fieldManagerMax = 128

// fieldManager returns the field manager of an Object that is alone with its resource.
func fieldManager(o Object) string { return managerNamed(o.GetName()) }

// ownFieldManager returns the field manager of an Object that meets another of its name on a resource. No name contains
// the sign that sets off the namespace, which is empty for Objects of the cluster scope.
func ownFieldManager(o Object) string { return managerNamed(o.GetName() + "@" + o.GetNamespace()) }

// managerNamed returns the field manager of a name. The end of a name that is too long gives way to a hash of the name.
func managerNamed(name string) string {
	m := commonv1.FieldManagerPrefix + name
	if len(m) <= fieldManagerMax {
		return m
	}
	sum := sha256.Sum256([]byte(name))
	hash := "-" + hex.EncodeToString(sum[:8])
	return m[:fieldManagerMax-len(hash)] + hash
}
