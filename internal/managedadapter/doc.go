// Package managedadapter stands between crossplane-runtime's reconcilers and the API server, so that only what is new
// is written. TestContract states which writes are left. Our own reconcilers use the same Client.
//
// A write is compared with the object as the server last gave it in this reconcile: after a write of our own the cache
// is behind. A reconcile to which the cache would show an older object than our last write ends at once, and comes
// again when the cache shows that write.
//
// The annotations external-create-pending and -succeeded are not written. crossplane-runtime keeps them to find
// resources that were created under a name only the answer told; ours are named by the manifest.
//
// A condition that differs from the last one only by what is new in each attempt, such as the current time, keeps its
// words. We rejected cutting that out of the text: a time in it may be what the user has to know.
//
// A change of a status that nobody waits for is written by a later reconcile; see Coalescer. The objects of one
// composite share a budget, because Crossplane stops watching a composite whose resources are written too often.
package managedadapter
