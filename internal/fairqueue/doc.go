// Package fairqueue decides whose resource gets the next worker of a controller.
//
// A Queue is client-go's workqueue with lanes. A lane is what may hold workers together, such as a target or a
// workspace, and belongs to a tenant. Lanes take turns, and in a lane so do urgent items and the others.
//
// A lane gets another worker only if more workers are free than it and its tenant hold together. So a single lane gets
// a third of the workers, n lanes of one tenant get n of 2n+1 shares, and n tenants get n of n+2 shares. Some workers
// remain for tenants that hold none, however many others never give theirs back. We rejected a fixed limit for each
// lane, because many lanes have many times that number. We rejected the priority queue of controller-runtime, in which
// one lane with ten thousand items delays all others.
package fairqueue
