// Package slot divides the work among replicas: each slot is in the hands of one of them. A ProviderConfig is in one
// slot, and with it all that goes through it, so that the connection to a target and all that share a resource there
// are in one process. A Lock holds the Lease of a slot.
//
// A process has one slot in its life: the fence of its Lease never opens again. A replica that waits lists the Leases
// with each look, and takes one whose holder has not renewed it for its whole duration, by the clock of the replica
// alone. We rejected assignments in a ConfigMap, which compare the clocks of machines.
//
// Replicas of another number of slots never work at the same time. The Lease without a number is that of the one slot
// of K = 1. With more slots it is the coordinator that each process passes after it has got its Lease, and before it
// works: it reads the coordinator, lists the Leases, and writes to the coordinator unless that has changed. If it finds
// that a process of another number holds a Lease, it gives its own up. Of two processes the one that passes later sees
// the Lease of the other. Programs that know no slots, such as provider-kubernetes, wait for the coordinator as for any
// Lease that is held.
package slot
