// Package v1alpha1 holds the cluster-scoped Object in its first version, which is served for
// compatibility and deprecated.
//
// Its schema is that of v1alpha2, and spec.providerRef, which has no effect; the controller reads and writes v1alpha2
// only. It has no selectable fields: servers refuse those that are the same in versions with different schemas.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.crossplane.io
// +versionName=v1alpha1
package v1alpha1
