// Package v1alpha1 holds the cluster-scoped ObservedObjectCollection.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.crossplane.io
// +versionName=v1alpha1
package v1alpha1
