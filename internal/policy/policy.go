// Package policy tells what management policies allow.
package policy

import (
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
)

// Allows says whether policies include an action, by itself or through *. An empty list allows nothing: it pauses the resource.
func Allows(p xpv2.ManagementPolicies, a xpv2.ManagementAction) bool {
	return slices.Contains(p, a) || slices.Contains(p, xpv2.ManagementActionAll)
}

// Owns says whether policies allow to create and to change a resource, so that applying its manifest at any time is right whether or
// not it exists.
func Owns(p xpv2.ManagementPolicies) bool {
	return Allows(p, xpv2.ManagementActionCreate) && Allows(p, xpv2.ManagementActionUpdate)
}
