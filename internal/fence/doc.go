// Package fence stops the writes of a replica that no longer holds its Lease.
//
// A Fence belongs to one Lease. Its Lock wraps the lock of the leader election and records each renewal. Its Wrap
// belongs to the transports of the clients whose writes the Lease protects.
//
// # Decisions
//
// The check. Wrap refuses each request that could change something unless the replica holds the Lease. A check at the
// start of a reconcile was rejected: a process may be frozen between two of its writes. A check of each write to a
// connection was rejected, too: it would keep back no more than the rest of what had begun. Fencing tokens were
// rejected because no API server compares them.
//
// When the Lease ends. It ends nine tenths of its duration after the last successful renewal was sent, not answered.
// Other replicas count the whole duration from when they see the renewal, so they start later. The last tenth is for
// requests that are on their way.
//
// Renewals. Replicas look at the Lease often, so that another takes over soon after its end. client-go renews it as
// often as it looks, which would be two writes a second for ever. The Lock therefore sends a renewal only when an
// eighth of the Lease has passed since the last one. A longer pause between two looks was rejected: it is added twice,
// and with a random part, to the time until another leads.
//
// After the Lease. It never opens again in the same process: what that knows is old, and the failures that the Fence
// causes must not be acted upon as if they were those of a target. A process that reads another holder ends at once:
// client-go alone would try to renew for another RenewDeadline, and drain afterwards. One that finds its Lease run out,
// but not taken, releases it and ends too, so that its successor need not wait. A release closes the Fence before it is
// sent.
//
// What passes. Clients that the Fence does not wrap: the leader election itself, token endpoints of identities and the
// change log, which change no object. Reviews of access and of tokens pass too: they are created, but not stored, and
// the start needs them.
//
// What remains. A request that has begun when the process is frozen is sent when it goes on. A request that a server
// has received is the server's to finish.
package fence
