// Package reference resolves the references of Objects to resources of the control plane, and keeps those from going
// first.
//
// It reads Objects from the manager's cache and all else through watches of package informer, each by name or by
// selector. It writes one finalizer, named by the UID of the Object that refers, on each resource referred to; the
// record of them is in the status of that Object. It writes, creates and deletes nothing else.
//
// # Decisions
//
// A value read through a reference goes into a manifest in memory. We rejected writing it to the spec of the Object: a
// Secret's value would be stored in a second place, and would outlive the reference.
//
// The record is written before the finalizer. A crash in between leaves a record without a finalizer, which the next
// pass mends. What is no longer referred to is released from the record. Deletion does not resolve: it goes by the
// record, and also releases what the spec names, for the finalizers of provider-kubernetes, which keeps no record.
//
// Finalizers are changed within the reconcile, by one request at a time for each resource, with all that Objects ask of
// it by then. Whether a finalizer is there is read from the newer of the cache and the last answer. The request is a
// merge patch with the resource version, and is made anew from the control plane's state after a conflict. Server-side
// apply would leave an entry in the managed fields of other people's resources for each Object.
//
// Who refers to an Object is an index of the manager's cache over the specs and records of Objects. We rejected maps of
// our own: each pass would have to keep them up to date. A selector is in it by one label that it requires, so that a
// change touches only the selectors that can match.
//
// Objects in a cycle would wait for each other when they are deleted. So the finalizers of those that a deleted Object
// refers to are taken off.
//
// Finalizers that earlier providers have left on Objects, of Objects that are gone or refer elsewhere, are taken off
// ten seconds after the deletion. On resources of other kinds nobody looks for them.
//
// An Object of a namespace refers to its own namespace only, unless the operator allows more: the provider reads with
// its own rights, which must not become the tenant's.
//
// Each resource of another kind has a stream of its own. We rejected informers per kind: a reference to one Secret
// would hold all of the control plane's in memory.
package reference
