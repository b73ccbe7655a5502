// Package object reconciles Objects of both scopes: it keeps the manifest of each on the cluster or kcp workspace that
// its ProviderConfig names.
//
// On the control plane it writes the finalizer and the external name of an Object, its status, the record that it uses
// its ProviderConfig, its connection secret, a finalizer on what it refers to, and events. On the target it applies the
// manifest with our label, deletes it, or withdraws the fields of a partial Object. It never writes spec, and never
// deletes a resource whose UID is not the recorded one, unless the resource carries fields that this Object applied, or
// others make it again.
//
// # Decisions
//
// The order of steps is that of crossplane-runtime, as users know its behaviour. References are resolved before a
// target is connected to, because what waits for a reference needs no target.
//
// A settled Object makes no API calls: two hashes in the status and the copy that the watch keeps tell whether the
// resource is as applied. A resource that the watch does not show is applied without a look, as server-side apply
// creates or adopts in one write. If the policies allow less, the request itself is restricted, because somebody may
// act between a look and an apply.
//
// An Object without the policy Create deletes what others make. It goes after the Objects it refers to if these go too,
// or the resource would be made again.
//
// Fields of a partial Object are withdrawn when the finalizer goes, because crossplane-runtime does not connect for a
// deleted Object without the policy Delete.
//
// Only the status knows the last resource once the manifest or the ProviderConfig names another. That record is
// overwritten after the last resource is dealt with, and is saved by a patch if a user has changed the Object
// meanwhile. The target that is left is another owner of watches, so that both connections wake the Object.
//
// With onImmutableChange: Recreate the manifest is tried under another name before the resource is deleted, so that a
// manifest that the target refuses costs no resource. If a policy refuses the change, the resource stays: whoever
// freezes a resource wants that.
//
// Records of use are written by a controller of their own, one at a time: package providerconfig keeps a ProviderConfig
// while Objects refer to it, recorded or not, and no Object of a burst waits for a record.
//
// An Object that is deleted on a dry run leaves its resource, which it may only have looked at.
//
// A change that alters only the shown resource, or the reason why it is not ready, is written later, with others; see
// package managedadapter. All else is written at once, because the next reconcile reads the record. A resource that is
// too large for the status is left out of it except for its identity, as readers could not tell what is cut.
//
// Objects report an unreachable target after 10 s and without events, because there may be thousands; the
// ProviderConfig reports it at once. unreachableTarget: Orphan takes effect only then, because an orphaned resource
// stays for good.
//
// The field manager of an Object is its name, as in provider-kubernetes, so that its fields are ours after a takeover.
// If Objects of one name meet on a resource, all but one add their namespace.
package object
