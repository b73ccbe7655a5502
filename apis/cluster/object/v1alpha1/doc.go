// Package v1alpha1 holds the cluster-scoped Object in its deprecated version: the schema of v1alpha2 and
// spec.providerRef, which has no effect. It has no selectable fields, as servers refuse equal ones in different
// schemas.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.crossplane.io
// +versionName=v1alpha1
package v1alpha1
