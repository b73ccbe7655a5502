// Package forwardingregistry is that of virtual-workspace-framework 0.31.2, which lacks a function that kcp 0.32 calls.
package forwardingregistry

import "k8s.io/apimachinery/pkg/api/validation/path"

// ValidatePathSegmentName returns why a name cannot be an element of a path, or its beginning if it is a prefix.
func ValidatePathSegmentName(name string, prefix bool) []string {
	return path.ValidatePathSegmentName(name, prefix)
}
