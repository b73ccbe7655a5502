// Package reference resolves the references of Objects to resources of the control plane, and keeps those from going
// first.
//
// It reads Objects from the manager's cache and all else through watches of package informer, each by name or by
// selector. It writes one finalizer, named by the UID of the Object that refers, on each resource referred to; the
// record of them is in the status of that Object. It never writes anything else, creates nothing and deletes nothing.
//
// # Decisions
//
// A value read through a reference goes into a manifest in memory. Writing it back to the spec of the Object was
// rejected: a Secret's value would be stored in a second place, and would outlive the reference.
//
// The record is written before the finalizer. A crash in between leaves a record without a finalizer, which the next
// pass mends; the other order would leave a finalizer nobody knows of. What is no longer referred to is released from
// the record, so that changing a reference leaves nothing behind; deletion also releases what the spec names and the
// record does not, for the finalizers of provider-kubernetes, which keeps no record.
//
// Deleting does not resolve. It goes by the record, and by names; a resource or a kind that is gone has nothing to be
// released from.
//
// Finalizers are changed by a JSON patch that tests the UID and the finalizers it starts from, and is repeated when
// those have changed: who writes other fields of the resource, however often, cannot hold it up. A patch that tests the
// resource version could starve. Server-side apply would not conflict, but leaves an entry in the managed fields of
// other people's resources for each Object.
//
// Each resource is changed by one request at a time, and no reconcile waits for that of another. Changes of a resource
// that is being changed are collected and made together in the background, as are several changes of one Object; its
// owner is woken when all are made. To wait for a turn was rejected: Objects with many references in common kept the
// workers from everybody else.
//
// Finalizers that earlier providers have left on Objects, of Objects that are gone or refer elsewhere, are taken off
// when the Object is deleted, ten seconds later. On resources of other kinds nobody looks for them.
//
// Where the status of an Object does not show the values of a Secret, who refers to them gets them from the Object's
// controller, which holds the Secret anyway to watch it, in the memory of the provider. A watch of the referrer's own
// on the other's target was rejected: it would be a second connection with other rights, and could show what the
// reference does not name.
//
// Objects in a cycle do not pin each other: each of them says so and is not applied, and any of them can be deleted. A
// cycle is looked for on each pass, by walking the references of cached Objects. Finding it only when deletion hangs
// was rejected.
//
// An Object of a namespace refers to its own namespace only, unless the operator allows more: the provider reads with
// its own rights, which must not become the tenant's. A cluster-scoped resource is beyond that namespace too.
//
// Each resource of another kind has a stream of its own. Informers per kind were rejected: who refers to one Secret
// would hold all of the control plane's in memory.
package reference
