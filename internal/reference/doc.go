// Package reference resolves the references of Objects to resources of the control plane, and keeps those from going
// first.
//
// It reads Objects from the manager's cache and all else through watches of package informer, each by name or by
// selector: informers per kind would hold all Secrets of the control plane. It writes one finalizer, named by the UID
// of the Object that refers, on each resource referred to; the record of them is in the status of that Object.
//
// # Decisions
//
// A value read through a reference goes into a manifest in memory. In spec a Secret's value would be stored in a second
// place, and would outlive the reference.
//
// The record is written before the finalizer. A crash in between leaves a record without a finalizer, which the next
// pass mends. Deletion does not resolve: it goes by the record, and also releases what the spec names, for the
// finalizers of provider-kubernetes, which keeps no record.
//
// Finalizers are changed by one merge patch with the resource version at a time for each resource, with all that
// Objects ask of it by then. Server-side apply would leave an entry in the managed fields of other people's resources
// for each Object.
//
// Who refers to an Object is an index of the manager's cache over the specs and records of Objects. A selector is in it
// by one label that it requires, so that a change touches only the selectors that can match.
//
// Finalizers on a deleted Object are taken off if they would stay or wait for each other: of Objects that are gone or
// refer elsewhere, ten seconds after the deletion, and of those that it refers to itself.
//
// An Object of a namespace refers to its own namespace only, unless the operator allows more: the provider reads with
// its own rights, which must not become the tenant's.
package reference
