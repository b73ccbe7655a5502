// Package fairqueue decides whose resource gets the next worker of a controller.
//
// A Queue is client-go's workqueue with flows. A flow is what may hold workers together, such as a target or a
// workspace, and belongs to a tenant. Flows take turns, and in a flow so do urgent items and the others.
//
// A flow gets another worker only if more workers are free than it and its tenant hold together. So a single flow gets
// a third of the workers, n flows of one tenant get n of 2n+1 shares, and n tenants get n of n+2 shares. Some workers
// remain for tenants that hold none, however many others never give theirs back. We rejected a fixed limit for each
// flow, because many flows have many times that number. We rejected the priority queue of controller-runtime, in which
// one flow with ten thousand items delays all others.
package fairqueue
