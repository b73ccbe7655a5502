// Package managedadapter stands between crossplane-runtime's reconcilers and the API server, so that only what is new
// is written. TestContract states which writes are left.
//
// A Client drops writes of the reconciled object that change nothing. A Reconciliation says what the reconciler cannot:
// the final conditions, what may wait, which connection secret to publish. A Recorder drops events that repeat a
// condition. Our own reconcilers use the same Client.
//
// # Decisions
//
// A write is compared with the object as the server last gave it in this reconcile. We rejected a comparison with the
// cache: after a write of our own it is behind. A reconcile that the cache would show an older object than our last
// write ends at once, and comes again when the cache shows that write. We rejected waiting, which holds a worker.
//
// Lists come without copies: what reconcilers list, such as ten thousand records of use, they only read.
//
// The annotations external-create-pending and -succeeded are not written. crossplane-runtime keeps them to find
// resources that were created under a name only the answer told; ours are named by the manifest.
//
// A condition that differs from the last one only by what is new in each attempt, such as the current time, keeps its
// words. We rejected cutting that out of the text: a time in it may be what the user has to know.
//
// A change of a status that nobody waits for is written by a later reconcile; see Coalescer: after two seconds of calm,
// or after 2 s, 4 s, and so on up to 30 s if there is no calm. The objects of one composite share a budget, because
// Crossplane stops watching a composite whose resources are written too often. We rejected a fixed pause, which is too
// long for one change or too short for many. So was a timer for each object.
//
// Of events that a resource of an Object was created, updated or deleted five are recorded in a second, fifty at once,
// because a thousand resources may be made at a time. Others are not limited: what they tell stands nowhere else.
package managedadapter
