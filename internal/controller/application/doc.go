// Package application reconciles KubernetesApplications: it chooses a cluster for each that has none, and for each of
// its templates an application controls a KubernetesApplicationResource, which package applicationresource submits.
//
// It watches KubernetesApplications, KubernetesApplicationResources and the ProviderConfigs that applications may be
// scheduled to. It asks each cluster that it considers what it serves, with the credentials. It creates, updates and
// deletes the KubernetesApplicationResources that its applications control, and writes spec.clusterRef of an
// application once, its finalizer and status, the record that it uses its ProviderConfig, and events. It never changes
// a KubernetesApplicationResource that somebody else controls, or nobody does.
//
// # Decisions
//
// The ProviderConfigs in the namespace of an application and all ClusterProviderConfigs that allow it are considered
// whose labels the selector matches, and which are not being deleted. The one that the fewest applications are
// scheduled to is chosen; among those, one of the namespace, and the first by name. So the choice depends on nothing
// that a restart forgets.
//
// A cluster that does not answer the credentials now is passed over, and if none answers the application waits, as the
// choice is final: to move an application would mean to delete all it has there. It is connected to what it waits for,
// and is woken when one answers. The use is recorded before the choice is written, so that a ProviderConfig cannot go
// in between.
//
// Applications are scheduled one at a time, each counts for the next. A cluster is asked meanwhile, and counts, too, so
// that a slow one holds nothing but workers of its tenant.
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
