// Package collection reconciles ObservedObjectCollections of both scopes: for each resource on a target that a
// collection selects it keeps a member, an Object that only observes.
//
// On the control plane it applies members and deletes them, and writes the status of a collection, the record that it
// uses its ProviderConfig, and events. It writes nothing on a target. It deletes only Objects that have the collection
// as an owner, and never overwrites one that is neither owned nor labelled as a member. Record and members go with the
// collection by garbage collection; there is no finalizer.
//
// # Decisions
//
// Members are deleted only when a whole and consistent list lacks their resource. While a target does not answer,
// denies the stream or does not serve the kind, members stay.
//
// A member is named by the first 7 hexadecimal digits of a hash, as in provider-kubernetes. If two hashes begin alike
// the first to come keeps the name, and the other is named by more digits.
//
// Members are applied only if they differ. The cache of Objects has no managed fields, so it does not show which labels
// were once of the template; the hash of the template in status tells whether all members have the last one.
//
// A pass ends when the cache shows what it has written. Otherwise the next one could give the name of a new member away
// again, and would write twice.
//
// A member that is missing is applied without force, an existing one by its UID. So an Object that a user makes at the
// same moment is not taken over.
package collection
