// Package v1alpha2 holds the cluster-scoped Object in its stored version.
//
// # Decisions
//
// There is no conversion webhook. Versions v1alpha1 and v1alpha2 serve one schema with conversion strategy None,
// so that an object written in one reads in the other without losing a field. provider-kubernetes converts by
// webhook, which drops watch, celQuery and deletionPropagationPolicy, and stops all reading of Objects whenever
// the webhook is down.
//
// +kubebuilder:object:generate=true
// +groupName=kubernetes.crossplane.io
// +versionName=v1alpha2
package v1alpha2
