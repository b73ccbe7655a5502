// Package object reconciles Objects of both scopes: it keeps the manifest of each on the cluster or kcp workspace its
// ProviderConfig names.
//
// It watches Objects, the ProviderConfigs they reference and the Secrets those name on the control plane, what Objects
// refer to there, and on the targets the resources it manages. On the control plane it writes the finalizer and the
// external name of an Object, its status, the record that it uses its ProviderConfig, its connection secret, a
// finalizer on what it refers to, and events. On the target it applies the manifest, with a label of ours, and deletes
// it, or takes back the fields of a partial Object. It never deletes a resource with another UID than the one it has
// recorded, unless the resource carries fields this Object applied or is made again while all of it is uninstalled; it
// never writes spec.
//
// # Decisions
//
// The order of steps is crossplane-runtime's. This package adds what is particular to Objects: how to connect, to look,
// to apply and to delete. A reconciler of our own would save one pass of the queue per creation and was rejected for
// the behaviour users know.
//
// References are followed in crossplane-runtime's own step for that, before a target is connected to: what waits for a
// reference needs no target. What they lead to gets its finalizer once the Object has its own. See package reference.
//
// A settled Object costs no request. Whether a resource is as applied follows from the copy the watch keeps and two
// hashes in status, which survive a restart. See package apply.
//
// Where the policy allows both to create and to update, a resource that the watch does not show is applied without
// asking whether it exists: server-side apply creates or adopts in one write, and the answer tells which it was. Where
// the policy allows less, the resource is looked up by its name first.
//
// Where the policy allows only one of both, the request itself can do no more than that: a creation that fails if the
// resource exists, or an apply that names the UID it is meant for. A look before a server-side apply was rejected, as
// somebody may act in between.
//
// An Object that may delete but not create deletes what others make. The maker may be an Object that it refers to and
// that is being deleted, too: OLM makes a ClusterServiceVersion again as long as its Subscription is there. Such an
// Object takes its finalizers off the Objects it refers to first. It is deleted after them, and until then finds its
// resource by name. Both orders for all such Objects were rejected: a Pod that a StatefulSet makes again at once would
// never be gone, and an owner that is waited for may wait for the resource itself.
//
// What the status records of the last resource is the only thing that tells of it once the manifest or the
// ProviderConfig names another. It is overwritten when that resource is dealt with and not before, and saved by a patch
// if the status of a pass cannot be written because a user has changed the Object meanwhile: a finalizer for each
// resource was rejected, as it would cost a write for each creation.
//
// An Object that refers to another ProviderConfig uses the target it leaves as an owner of another controller name, so
// that both connections wake it. The record of use names the old ProviderConfig until there is nothing left to do
// there.
//
// Records of use are written by a controller of their own, one at a time and, while Objects are worked on, not many a
// second. They are for people to read: package providerconfig keeps a ProviderConfig while Objects refer to it,
// recorded or not. To record the use before the target is connected to, as is common, was rejected: of a burst of
// Objects each would wait for a write that none of them needs.
//
// An Object that is gone in spite of its finalizer, because its deletion has missed it by a moment, is finished with as
// if it were there. Its connection secret and the record of its use of a ProviderConfig are left to the garbage
// collector, as ever. See package deletedearly.
//
// Fields are withdrawn when the finalizer goes, as crossplane-runtime does not connect for a deleted Object that may
// not delete. To show it a policy with Delete then, and to withdraw where it deletes, was rejected: events and metrics
// would tell of deletions.
//
// An Object whose resource somebody keeps changing is reverted at once for a hundred times, then once a second, so that
// two controllers which disagree do not spin.
//
// An Object that must not apply says what an apply would change: on a dry run, or if its policy only lets it look and
// its manifest says more than what to look at. The comparison is made once for each state of manifest and resource and
// remembered in status, so that a settled preview costs no request either. A failure to compare is no failure to
// observe. An Object deleted on a dry run leaves its resource: a dry run that deletes what it may only have looked at
// would be the worst of surprises. To hold the deletion until the annotation goes was rejected, as it would block the
// deletion of namespaces.
//
// A change of the resource that alters nothing but how the status shows it, or the reason why it is not ready, is
// written a little later, together with others; see package diffwrite. Conditions, the record of what was applied, a
// field that a reference reads, and all of an Object that is being deleted are written at once; connection details and
// drift do not go by the status. To write no more than conditions at once was rejected: our next pass goes by the
// record. So was to let references read the resource from the provider's memory: what they have read would be shown
// nowhere.
//
// A resource that is too large for the status is left out of it but for its identity, and the status says its size.
// Without that no status could be written, and the manifest would be applied at each pass, as nothing tells that it
// was. What fits is estimated first, and left to the control plane if the estimate was wrong. It is not tried again
// before the resource is smaller. To cut the content was rejected: what reads it could not tell.
//
// A failed pass is retried after 250 ms at first and 2 s at most: forbidden requests, missing namespaces and invalid
// fields heal without a sign that could be watched. Together, such retries are limited to 50 a second for each target.
// What can be watched is not retried but waited for: credentials, a target that does not answer, a kind it does not
// serve.
//
// The field manager of an Object is its name, as in provider-kubernetes, whose fields are ours thereby. Only where
// another Object of that name has the resource, too, is the later one told apart by its namespace. To name all by their
// namespaces was rejected: each takeover would leave fields behind. A resource that exists is known by its UID, as one
// cluster may have several URLs. See Claims.
//
// A resource that provider-kubernetes has applied client-side is migrated before it is applied. Whether it was is seen
// on the resource, which is read once if the status hints at it and the watch does not show it, as it has no label yet.
// To go by the status alone was rejected: it may lack managed fields. Of managers with a common name, only the
// annotation of a client-side apply tells that they were a provider-kubernetes.
package object
