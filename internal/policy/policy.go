// Package policy tells what management policies allow.
package policy

import (
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// Allows reports whether policies include an action, by itself or through *. An empty list allows nothing: it pauses
// the resource.
func Allows(p xpv2.ManagementPolicies, a xpv2.ManagementAction) bool {
	return slices.Contains(p, a) || slices.Contains(p, xpv2.ManagementActionAll)
}

// Manages reports whether policies allow to create and to change a resource, so that applying its manifest at any time
// is right whether or not it exists.
func Manages(p xpv2.ManagementPolicies) bool {
	return Allows(p, xpv2.ManagementActionCreate) && Allows(p, xpv2.ManagementActionUpdate)
}

// Writes reports whether policies allow anything but to look.
func Writes(p xpv2.ManagementPolicies) bool {
	return Allows(p, xpv2.ManagementActionCreate) || Allows(p, xpv2.ManagementActionUpdate) ||
		Allows(p, xpv2.ManagementActionDelete)
}

// An Ending is what becomes of a resource when its Object goes, or names another one.
type Ending int

const (
	// Leave leaves the resource as it is.
	Leave Ending = iota
	// Withdraw takes back the fields that the Object has applied to a resource of others.
	Withdraw
	// Delete deletes the resource.
	Delete
)

// OfDeleted returns the ending when the Object is deleted. An Object that may delete its resource does. One that
// may change its resource but neither create nor delete it shares the resource with others, and leaves them what is
// theirs. Orphan leaves everything, whatever the policies say.
func OfDeleted(p xpv2.ManagementPolicies, d xpv2.DeletionPolicy) Ending {
	switch {
	case d == xpv2.DeletionOrphan:
		return Leave
	case Allows(p, xpv2.ManagementActionDelete):
		return Delete
	case Allows(p, xpv2.ManagementActionUpdate) && !Allows(p, xpv2.ManagementActionCreate):
		return Withdraw
	}
	return Leave
}

// OfReplaced returns the ending when the Object lives on and names another resource. It is that of a deleted Object,
// but for one that may not create: it has only looked at the resource, and now looks elsewhere.
func OfReplaced(p xpv2.ManagementPolicies, d xpv2.DeletionPolicy) Ending {
	e := OfDeleted(p, d)
	if e == Delete && !Allows(p, xpv2.ManagementActionCreate) {
		return Leave
	}
	return e
}
