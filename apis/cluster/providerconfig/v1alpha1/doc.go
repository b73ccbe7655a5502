// Package v1alpha1 holds the cluster-scoped ProviderConfig and the record of who uses it.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.crossplane.io
// +versionName=v1alpha1
package v1alpha1
