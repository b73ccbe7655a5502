// Package scope holds all that differs between the cluster-scoped and the namespaced form of a kind.
//
// A controller is written once, for a Kind; the two values of Kind are the whole difference. A second copy of a
// controller for the second scope was rejected: copies drift apart, as they have in provider-kubernetes.
package scope
