// Package v1alpha1 holds KubernetesApplication and KubernetesApplicationResource: bundles of resources that are
// scheduled to one cluster.
//
// +kubebuilder:object:generate=true
// +groupName=workload.crossplane.io
// +versionName=v1alpha1
package v1alpha1
