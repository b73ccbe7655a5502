// Package fairqueue decides whose resource gets the next worker of a controller.
//
// A Queue is client-go's workqueue with lanes. A lane is what may hold workers together, such as a target or a
// workspace, and belongs to a tenant. Lanes take turns. In a lane urgent items, which somebody waits for,
// take turns with the others, and both keep their order. So a change does not wait for thousands of items that a start
// brings.
//
// # One rule
//
// A lane gets another worker only if more workers are free than it and its tenant hold together. So a single lane gets
// a third of the workers, n lanes of one tenant get n of 2n+1 shares, and n tenants get n of n+2 shares. Some workers
// remain for tenants that hold none, however many others never give theirs back. We rejected a fixed limit for each
// lane, because many lanes have many times that number. We rejected credits for lanes that answer, and cancelling what
// waits: goroutines are cheap, so there may be more workers than one lane needs.
//
// # Below client-go
//
// client-go's workqueue knows which items wait and which are under way, and has the metrics. The Queue adds the order,
// by workqueue.Queue, and has Get wait while no lane may have a worker. We rejected the priority queue of
// controller-runtime, in which one lane with ten thousand items delays all others.
package fairqueue
