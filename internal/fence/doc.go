// Package fence stops the writes of a replica that no longer holds its Lease.
//
// A Fence belongs to one Lease. Its Lock wraps the lock of the leader election and records each renewal. Its Wrap and
// Dial belong to the transports of the clients whose writes the Lease protects.
//
// # Decisions
//
// Two checks. Wrap refuses each request that could change something unless the replica holds the Lease. Dial checks
// again before each write to the connection, and refuses it once the Lease has run out: a request that waits for a
// connection, a stream, a handshake or the CPU, or that is half sent, when the process is frozen does not leave
// afterwards. The check of the request alone was rejected: of the requests in flight at SIGSTOP some are between that
// check and the socket. A check at the start of a reconcile was rejected for the same reason. Fencing tokens were
// rejected because no API server compares them.
//
// When the Lease ends. It ends nine tenths of its duration after the last successful renewal was sent, not answered.
// Other replicas count the whole duration from when they see the renewal, so they start later. The last tenth is for
// requests that are on their way. At the end all connections are closed, so that servers give up requests that they
// have not answered.
//
// The clock. It counts the time for which the machine is suspended (CLOCK_BOOTTIME), which Go's monotonic clock does
// not. Systems other than Linux use the wall clock. Neither is compared with the clock of another machine.
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
// What remains. Bytes that are in the kernel's send buffer when the process is frozen leave it. A request that a server
// has received is the server's to finish.
package fence
