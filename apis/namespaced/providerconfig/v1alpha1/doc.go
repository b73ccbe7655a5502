// Package v1alpha1 holds the ProviderConfig of a namespace, the ClusterProviderConfig that all namespaces share, and
// the record of who uses either.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.m.crossplane.io
// +versionName=v1alpha1
package v1alpha1
