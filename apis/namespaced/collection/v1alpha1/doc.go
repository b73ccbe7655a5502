// Package v1alpha1 holds the namespaced ObservedObjectCollection.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.m.crossplane.io
// +versionName=v1alpha1
package v1alpha1
