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
// The order of steps is that of crossplane-runtime, as users know its behaviour. We rejected a reconciler of our own,
// although it would save one reconcile for each creation. References are resolved before a target is connected to,
// because what waits for a reference needs no target.
//
// # Create and adopt
//
// A settled Object makes no API calls: two hashes in the status and the copy that the watch keeps tell whether the
// resource is as applied. If the policy allows both creation and change, a resource that the watch does not show is
// applied without a look: server-side apply creates or adopts in one write. If the policy allows less, the resource is
// looked up by its name first, and the request itself is restricted: a creation that fails if the resource exists, or
// an apply that names the expected UID. We rejected a look before a server-side apply, because somebody may act in
// between.
//
// # Deletion
//
// Without the policy Create an Object deletes what others make. If the maker goes with it, such an Object is deleted
// after the Objects it refers to, or the resource would be made again. We rejected this order whatever becomes of the
// others: a Pod that a StatefulSet makes again at once would never be gone.
//
// An Object that is deleted early is finished as if it were there; see package deletedearly. Fields of a partial Object
// are withdrawn when the finalizer goes, because crossplane-runtime does not connect for a deleted Object without the
// policy Delete.
//
// # Moves
//
// Only the status knows the last resource once the manifest or the ProviderConfig names another. That record is
// overwritten after the last resource is dealt with, and is saved by a patch if a user has changed the Object
// meanwhile. The target that is left is used as another owner, so that both connections wake the Object. We rejected a
// finalizer for each resource, which would cost a write for each creation.
//
// # Recreation
//
// With onImmutableChange: Recreate a resource is deleted whose change the target never makes. The next reconcile makes
// it again as any that is missing: after a restart, status and target tell what to do. The manifest is tried before,
// under another name, because nothing must be lost for a manifest that the target refuses. We rejected deleting at any
// refusal, because policies that freeze a resource answer alike.
//
// # Records of use
//
// A controller of their own writes records of use, one at a time: people read them, and package providerconfig keeps a
// ProviderConfig while Objects refer to it, recorded or not. We rejected a record before the connection, as is common:
// each Object of a burst would wait for a write that none needs.
//
// # Previews
//
// The comparison runs once for each state of manifest and resource and is remembered in the status. A failed comparison
// is no failed observation. An Object that is deleted on a dry run leaves its resource. We rejected deleting what may
// only have been looked at, and holding the deletion until the annotation goes, which would block the deletion of
// namespaces.
//
// # Status writes
//
// A change that alters only the shown resource, or the reason why it is not ready, is written later, with others; see
// package managedadapter. All else is written at once, because the next reconcile reads the record. A resource that is
// too large for the status is left out of it except for its identity. We rejected cutting the content, because readers
// could not tell.
//
// # Retries and outages
//
// A failed reconcile is retried after 250 ms at first and 2 s at most, ever more seldom if the target keeps refusing.
// A ProviderConfig reports at once that its target does not answer. Its Objects report it after 10 s, at most 50 a
// second and without events, because there may be thousands. unreachableTarget: Orphan takes effect only after the
// 10 s, because an orphaned resource stays for good. We rejected pausing all reconciles: those that need no request
// continue.
//
// # Field managers
//
// The field manager of an Object is its name, as in provider-kubernetes, so that its fields are ours after a takeover.
// If Objects of one name meet on a resource, all but one add their namespace. Two that are made at once may take each
// other's fields away for a moment, until each sees the status of the other. We rejected adding the namespace always:
// each takeover would leave fields behind. We rejected reservations in memory, which a restart forgets.
package object
