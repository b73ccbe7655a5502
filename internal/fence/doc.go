// Package fence stops the writes of a replica that no longer holds its Lease. The Lock of a Fence wraps the lock of the
// leader election and records each renewal. Its Wrap belongs to the transports whose writes the Lease protects.
//
// Each request that could change something is checked: a process may be frozen between two writes of a reconcile.
// Fencing tokens were rejected because no API server compares them. What remains is a request that was on its way
// already.
//
// The Lease ends nine tenths of its duration after the last successful renewal was sent, not answered. Other replicas
// count the whole duration from when they see the renewal, so they start later.
//
// client-go renews the Lease as often as it looks, which is often, so that another takes over soon. The Lock sends a
// renewal only when an eighth of the Lease has passed since the last one.
//
// A Fence never opens again: what its process knows is old, and failures that the Fence causes must not be taken for
// those of a target. So the process ends at once when it reads another holder, or finds its Lease run out.
//
// The leader election itself, token endpoints and the change log pass, as do reviews of access and of tokens: they are
// created, but not stored, and the start needs them.
package fence
