// Package v1alpha1 holds PublishedResource: an API of a service cluster, offered to the workspaces of a kcp.
//
// # Decisions
//
// The spec is that of kcp's api-syncagent in all forms it has had, kept as written. The API server refuses what cannot
// work. What a published API is cannot change once consumers rely on it.
//
// filter.namespace is a name or a label selector. No structural schema says that, so that it is kept as it is and read
// when it is used: a type that fails to decode would stop all reading of PublishedResources.
//
// The default deletionPolicy is Orphan, so that the deletion of a PublishedResource takes nothing from consumers.
//
// +kubebuilder:object:generate=true
// +groupName=syncagent.kcp.io
// +versionName=v1alpha1
package v1alpha1
