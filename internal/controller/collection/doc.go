// Package collection reconciles ObservedObjectCollections of both scopes: for each resource on a target that a
// collection selects it keeps a member, an Object that only observes.
//
// It watches collections, Objects and ProviderConfigs on the control plane, and on the targets the names of the
// resources that collections select. On the control plane it applies members and deletes them, and writes the status of
// a collection, the record that it uses its ProviderConfig, and events. It writes nothing on a target. It deletes only
// Objects that have the collection as an owner, and never overwrites one that is neither owned nor labelled as a
// member.
//
// # Decisions
//
// What is selected comes from a watch stream of metadata, which collections of equal selections share. A collection at
// rest costs no request. provider-kubernetes lists the resources in full at each poll, and applies each member.
//
// Members are deleted only when a whole and consistent list lacks their resource. While a target does not answer,
// denies the stream or does not serve the kind, members stay.
//
// A member is named by the first 7 hexadecimal digits of a hash, as in provider-kubernetes, where two resources whose
// hashes begin alike take turns on one member. Here the first to come keeps the name, and the other is named by 14
// digits, or as many as it takes. Which one that is does not change while both are selected.
//
// Members are compared with what they should be, and applied only if they differ. The cache of Objects has no managed
// fields, so it does not show which labels were once of the template; the hash of the template in status tells whether
// all members have the last one. A hash on each member would be one more annotation that users see, and was rejected.
//
// A pass ends when the cache shows what it has written. Otherwise the next one could give the name of a new member away
// again, and would write twice. We rejected a record of what was written: some milliseconds later it is empty.
//
// A member that is missing is applied without force, an existing one by its UID. So an Object that a user makes at the
// same moment is not taken over.
//
// A collection records the use of its ProviderConfig, which provider-kubernetes does not: without members, nothing else
// would keep the ProviderConfig. The record goes with the collection, by garbage collection, like the members; there is
// no finalizer.
package collection
