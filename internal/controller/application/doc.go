// Package application reconciles KubernetesApplications: it chooses a cluster for each that has none, and keeps a
// KubernetesApplicationResource for each of its templates, which package applicationresource submits.
//
// It writes KubernetesApplicationResources that its applications control, spec.clusterRef of an application once, its
// finalizer and status, and the record that it uses its ProviderConfig. It never changes a
// KubernetesApplicationResource that somebody else controls, or nobody does.
//
// # Decisions
//
// The cluster with the fewest applications is chosen, so that the choice depends on nothing that a restart forgets. One
// that does not answer is passed over, because the choice is final. An application stays connected to the clusters that
// it waits for, and is woken when one answers. Its use is recorded before the choice is written, so that the
// ProviderConfig cannot go in between.
//
// Applications are scheduled one at a time, because each counts for the next. The lock is released while a cluster is
// asked, so that a slow one holds only workers of its tenant.
//
// A new KubernetesApplicationResource is created and not applied, because only a creation fails where there is one.
//
// The finalizer is our own, because foregroundDeletion gives way to the policy of the request that deletes. An
// annotation tells whose the resources were that a request orphans: they are deleted all the same.
//
// Only a resource whose state is about its present generation counts as submitted.
package application
