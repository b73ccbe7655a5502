// Package applicationresource reconciles KubernetesApplicationResources: it keeps the template of each on its cluster,
// with copies of the Secrets that the template needs, and shows the status of what is there.
//
// It never changes or deletes a resource on a cluster that another controller has, or that nobody has.
//
// # Decisions
//
// What is on a cluster belongs to the KubernetesApplicationResource whose UID its annotation or, without that, its
// field manager has. One that has not submitted yet takes what is of its namespace and name, as after a restore, but
// does not delete it. We rejected a mark by name alone: two in two control planes would fight.
//
// A resource that no watch shows is asked for before it is made, as it may lack our label. It is then applied without
// force, so that one that has come in between is refused.
//
// No hash of a copy of a Secret is kept, because it would help to guess the content. The names of Secrets are written
// into the status before copies are made, so that none is forgotten.
//
// A missing Secret holds only the first submission back: a Deployment without its password would crash.
//
// The application records the use of the ProviderConfig for all its resources.
package applicationresource
