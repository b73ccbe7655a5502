// Package v1alpha2 holds the cluster-scoped Object in its stored version. It has no conversion webhook as
// provider-kubernetes has: versions v1alpha1 and v1alpha2 have one schema, so that no field is lost between them.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.crossplane.io
// +versionName=v1alpha2
package v1alpha2
