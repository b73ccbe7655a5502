// Package v1alpha1 holds what both scopes of a kind share, so that a field, its default and its documentation exist
// once. It declares no kinds. Strings that other software relies on, such as finalizers and labels, never change.
//
// The API version of a reference has no default in the schema, because it differs between the scopes: the controller
// fills it in.
//
// +kubebuilder:object:generate=true
package v1alpha1
