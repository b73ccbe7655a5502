// Package slot divides the work among replicas: each slot is in the hands of one of them.
//
// A ProviderConfig is in one slot, and with it all that goes through it: Slots say in which one, and which slot is that
// of this process. A Lock holds the Lease of a slot. It changes Leases on the control plane, and nothing else.
//
// # Decisions
//
// The unit. It is the ProviderConfig, so that the connection to a target, its watches, its circuit breaker and all that
// share a resource there are in one process. We rejected a hash of each object: every replica would connect to every
// target.
//
// Leases. A slot is taken by its Lease and by nothing else. A process has one slot in its life: the fence of its Lease
// never opens again. We rejected assignments in a ConfigMap, which compare the clocks of machines. A replica that waits
// lists the Leases with each look, and takes one whose holder has not renewed it for its whole duration, by the clock
// of the replica alone.
//
// Another number of slots. The Lease without a number is that of the one slot of K = 1. With more slots it is the
// coordinator that each process passes after it has got its Lease, and before it works: it reads the coordinator, lists
// the Leases, and writes to the coordinator unless that has changed. If it finds that a process of another number holds
// a Lease, it gives its own up and tries again later. Of two processes the one that passes later sees the Lease of the
// other. A coordinator shows that somebody has passed, so that a process of one slot for all has nothing to list before
// it takes the coordinator itself: where the number never changes it makes the requests of client-go, and needs no
// other rights. Programs that know no slots, such as provider-kubernetes, wait for the coordinator as for any Lease
// that is held.
package slot
