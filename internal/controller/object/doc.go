// Package object reconciles Objects of both scopes: it keeps the manifest of each on the cluster or kcp workspace that
// its ProviderConfig names.
//
// It watches Objects, the ProviderConfigs they reference, the Secrets of these and what Objects refer to on the control
// plane, and the resources it manages on the targets. On the control plane it writes the finalizer and the external
// name of an Object, its status, the record that it uses its ProviderConfig, its connection secret, a finalizer on what
// it refers to, and events. On the target it applies the manifest with our label, deletes it, or withdraws the fields
// of a partial Object.
//
// It never deletes a resource whose UID is not the recorded one, unless the resource carries fields that this Object
// applied, or is made again while everything is uninstalled. It never writes spec.
//
// # Steps
//
// The order of steps is that of crossplane-runtime, as users know its behaviour. This package adds what is particular
// to Objects: connect, look, apply, delete. References are resolved before a target is connected to, because what waits
// for a reference needs no target. What they lead to gets its finalizer once the Object has its own; see package
// reference. We rejected a reconciler of our own, although it would save one pass of the queue for each creation.
//
// # Steady state
//
// A settled Object makes no API calls. Two hashes in the status and the copy that the watch keeps tell whether the
// resource is as applied, also after a restart; see package apply.
//
// # Create and adopt
//
// If the policy allows both creation and change, a resource that the watch does not show is applied without a look:
// server-side apply creates or adopts in one write, and the answer tells which. If the policy allows less, the resource
// is looked up by its name first. If it allows only one of both, the request itself is restricted: a creation that
// fails if the resource exists, or an apply that names the expected UID. We rejected a look before a server-side apply,
// because somebody may act in between.
//
// # Deleting what others make
//
// An Object that may delete but not create deletes what others make. The maker may be an Object that it refers to and
// that is being deleted, too: OLM makes a ClusterServiceVersion again as long as its Subscription is there. Such an
// Object takes its finalizers off the Objects it refers to first. It is deleted after them, and until then finds its
// resource by name. We rejected this order whatever becomes of the others: a Pod that a StatefulSet makes again at once
// would never be gone. We also rejected waiting for other resources it refers to: an owner may wait for the resource
// itself.
//
// # Moves
//
// Only the status knows the last resource once the manifest or the ProviderConfig names another. That record is
// overwritten after the last resource is dealt with, and is saved by a patch if a user has changed the Object
// meanwhile. The target that is left is used as an owner of another controller name, so that both connections wake the
// Object, and the record of use names the old ProviderConfig until nothing is left to do there. We rejected a finalizer
// for each resource, which would cost a write for each creation.
//
// # Records of use
//
// A controller of their own writes records of use, one at a time, and few a second while Objects are worked on. People
// read them; package providerconfig keeps a ProviderConfig while Objects refer to it, recorded or not. We rejected a
// record before the connection, as is common: each Object of a burst would wait for a write that none needs.
//
// # Deletion
//
// An Object that is deleted early, because its deletion has missed the finalizer by a moment, is finished as if it were
// there; see package deletedearly. The garbage collector deletes its connection secret and its record of use.
//
// Fields of a partial Object are withdrawn when the finalizer goes, because crossplane-runtime does not connect for a
// deleted Object without the policy Delete. We rejected showing it that policy: events and metrics would tell of
// deletions.
//
// # Drift
//
// The first hundred changes by others are reverted at once, further ones once a second, so that two controllers that
// disagree do not spin.
//
// # Previews
//
// An Object that must not apply shows what an apply would change: on a dry run, or if it only observes and its manifest
// says more than what to look at. The comparison runs once for each state of manifest and resource and is remembered in
// the status, so that a settled preview makes no API calls. A failed comparison is no failed observation. An Object
// that is deleted on a dry run leaves its resource. We rejected deleting what may only have been looked at, and holding
// the deletion until the annotation goes, which would block the deletion of namespaces.
//
// # Status writes
//
// A change that alters only the shown resource, or the reason why it is not ready, is written later, with others; see
// package managedadapter. Conditions, the record of what was applied, fields that references read, and everything of an
// Object that is being deleted are written at once. Connection details and drift do not depend on the status. We
// rejected writing only conditions at once, because the next pass reads the record. We rejected references that read
// the provider's memory, because what they have read would be shown nowhere.
//
// # Large resources
//
// A resource that is too large for the status is left out of it except for its identity, and the status says its size.
// Otherwise no status could be written, and the manifest would be applied at each pass. The size is estimated first; if
// the control plane refuses the write all the same, the resource is left out until it is smaller. We rejected cutting
// the content, because readers could not tell.
//
// # Retries
//
// A failed pass is retried after 250 ms at first and 2 s at most: forbidden requests, missing namespaces and invalid
// fields heal without an event. A target gets at most 50 such retries a second. Objects that the target keeps refusing
// share two retries a second. One Object for each cause is retried every few seconds; see package target. An Object
// waits for an event where one can be watched: new credentials, a target that answers again, a kind that becomes
// served, a changed manifest.
//
// # Outages
//
// A ProviderConfig reports at once that its target does not answer. Its Objects report it after 10 s, at most 50 a
// second and without events, because there may be thousands. A shorter outage costs two writes of the ProviderConfig
// and one event, and no write of an Object. A new Object reports it at once, with an event, because nothing is known
// of it yet. A deleted Object waits. unreachableTarget: Orphan takes effect only after the 10 s, because an orphaned
// resource stays for good. We rejected pausing all passes: those that need no request continue.
//
// # Field managers
//
// The field manager of an Object is its name, as in provider-kubernetes, so that its fields are ours after a takeover.
// If another Object of that name has the same resource, the later one adds its namespace. Existing resources are told
// apart by UID, because one cluster may have several URLs; see Claims. We rejected adding the namespace always: each
// takeover would leave fields behind.
//
// # Migration
//
// A resource that provider-kubernetes has applied client-side is migrated before it is applied. The resource itself
// tells; it is read once if the status hints at it and the watch does not show it, because it has no label yet. Of
// field managers with a common name only the annotation of a client-side apply tells that they were a
// provider-kubernetes. We rejected the status alone, which may lack managed fields.
package object
