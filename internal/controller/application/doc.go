// Package application reconciles the KubernetesApplications that are scheduled to a cluster: for each of its templates
// an application controls a KubernetesApplicationResource, which package applicationresource submits.
//
// It watches KubernetesApplications and KubernetesApplicationResources, and speaks to no cluster. It creates, updates
// and deletes the KubernetesApplicationResources that its applications control, and writes the finalizer and the status
// of an application, the record that it uses its ProviderConfig, and events. It never changes one that somebody else
// controls, or nobody does.
//
// # Decisions
//
// A new KubernetesApplicationResource is created and not applied, because only a creation is refused where there is one
// already. Later ones are updates of the very version that was seen.
//
// The labels and annotations that the template gives are listed in an annotation, so that they go when the template
// drops them, and those of others stay. The whole spec is the template's.
//
// One that is not wanted any more is deleted, and until it is gone the application is not Synced. One whose
// template has come to mean another resource is deleted and made again, because it could not be changed.
//
// One template that cannot be rendered does not keep the others back: all are tried, and the status says which failed.
//
// An application goes after its resources. That is what the finalizer foregroundDeletion of Kubernetes does; but it
// gives way to the policy of the request that deletes, which is Background with kubectl, so the finalizer is our own.
// If a request orphans the resources they are deleted all the same, because an annotation tells whose they were.
//
// Submitted counts a resource that is submitted as its template is now: its state is about its present generation, and
// that is what the template makes. What was submitted before a change does not count.
package application
