// Package managedadapter makes crossplane-runtime's reconcilers write only what is new.
//
// Its Client and Recorder stand between a reconciler and the API server. They look at nothing but the object of the
// current pass.
//
// # Decisions
//
// A Pass in the context carries the object as the server last gave it, so that each write is compared with the truth of
// this pass. A comparison with the informer's cache was rejected: just after a write of our own the cache is behind,
// and the second write of the pass would be taken for a change.
//
// The annotations external-create-pending and -succeeded are not written. crossplane-runtime keeps them to find
// resources that were created under a name only the answer told; ours are named by the manifest, so that a creation
// which was interrupted is repeated without harm. That saves two of seven writes for each new resource.
//
// The final status of a pass may be amended before it is compared and written. crossplane-runtime reports each creation
// as Creating and looks again; Amend lets what the creation has shown count at once, in one write instead of two.
//
// A condition that differs from the last one only by what is new in each attempt, such as the current time or our own
// port, keeps its words. Such texts would be a write and an event for each probe. To cut what is new out of the text
// was rejected: a time in it may be what the user has to know.
//
// A change of a status that nobody waits for is written later, by a pass that the caller asks for; see Coalescer. It is
// written two seconds after it, or after the last of several; if there is no end of them, after 2 s, 4 s, and so on up
// to 30 s. Crossplane's circuit breaker stops to listen to all that a composite is made of for five minutes if that is
// written often, so that the Objects of a composite share a budget, which is less than the breaker allows. A fixed
// interval for each object was rejected: one that is short enough for the last state to be shown soon is too short for
// a resource that never rests, or for many. So was a timer for each object: it has to be stopped wherever the object
// ends, and to write it needs the state that the next pass reads anyway. Nothing is kept for a restart: the first pass
// after it sees that the status is behind.
//
// Events of type Normal are limited to five a second, fifty at once, for each controller of Objects. They repeat what
// the status says, and where a thousand resources are made at a time, each would be one write in five and a burden on
// etcd for an hour. Warnings are not limited, nor are events of other kinds: each is a step that somebody follows.
package managedadapter
