// Package v1alpha1 holds the parts of the API that the cluster-scoped and the namespaced form of a kind share.
//
// It declares no kinds: the packages below apis/cluster and apis/namespaced embed these structs, so that a field, its
// default and its documentation exist once. Strings that other software relies on (finalizers, labels, field managers,
// condition reasons) are constants here and never change.
//
// # Decisions
//
// The API version of a reference has no default in the schema, although provider-kubernetes sets one. The default
// differs between the scopes, and a schema default would need a second copy of the struct for that one marker; the
// controller fills it in instead.
//
// +kubebuilder:object:generate=true
package v1alpha1
