// Package v1alpha1 holds PublishedResource: an API of a service cluster, offered to the workspaces of a kcp.
//
// # Decisions
//
// The spec is that of kcp's api-syncagent, field by field, in all forms it has had, so that what was written for the
// agent applies unchanged. Around it stands what makes it a managed resource, and what the agent was told by flags.
// Where the agent finds out when it runs that a spec cannot work, the API server refuses it here. What a published API
// is, is fixed once consumers rely on it.
//
// There is no conversion between older forms and newer ones: both are kept as written, and the code that reads
// them knows both.
//
// filter.namespace is a name or a label selector. No structural schema says that, and a type that failed to decode
// would stop all reading of PublishedResources, so it is kept as it is and read when it is used.
//
// The default deletionPolicy is Orphan, unlike that of other managed resources: to delete a PublishedResource must not,
// unasked, take an API and its objects from consumers. There is no connection secret, as a published API has no
// credentials of its own.
//
// +kubebuilder:object:generate=true
// +groupName=syncagent.kcp.io
// +versionName=v1alpha1
package v1alpha1
