// Package applicationresource reconciles KubernetesApplicationResources: it keeps the template of each on the cluster
// it is scheduled to, and beside it copies of the Secrets that the template needs, and shows the status of what is
// there.
//
// It watches KubernetesApplicationResources, the ProviderConfigs they refer to and the Secrets they name on the control
// plane, and on the clusters what it has made. On the control plane it writes the finalizer and the status of a
// KubernetesApplicationResource, the record that it uses its ProviderConfig, and events. On a cluster it applies and
// deletes the resource and the copies of Secrets. It never changes or deletes a resource there that another controller
// has, or that nobody has.
//
// # Decisions
//
// What is on a cluster belongs to the KubernetesApplicationResource whose UID its annotation names. If somebody has
// removed the annotation, the field manager still tells, which has the UID in its name. What has neither is refused,
// not adopted: it may be anybody's. One that has not submitted yet takes what is of its namespace and name, as after a
// restore. It is deleted by UID only: what was never submitted may be that of a living one elsewhere. A mark by name
// alone was rejected: two in two control planes would fight.
//
// A resource that no watch shows is asked for once before it is made, as it may lack our label. It is then applied
// without force, which the server refuses if the resource of another KubernetesApplicationResource has come in between,
// because their annotations differ.
//
// Whether the resource is as submitted follows from two hashes in status and from what the watch shows, as for Objects.
// Of the copies of Secrets no hash is kept, which would help to guess what they hold: the copy is compared with the
// Secret itself.
//
// The names of Secrets are written into the status before copies are made, so that none is forgotten, whatever happens.
//
// A Secret that does not exist holds the first submission back: a Deployment without its password would only crash.
// Once it is submitted, a Secret that goes takes nothing with it: the copy stays until the
// KubernetesApplicationResource no longer names it.
//
// One that is gone in spite of its finalizer is finished as if it were there. See package deletedearly.
//
// One that belongs to a KubernetesApplication does not record the use of its ProviderConfig: its application does, and
// outlives it. Fifty records for one bundle would tell nothing more.
package applicationresource
