// Package informer keeps copies of the resources of one cluster that somebody has asked for, and wakes who asked when
// one changes.
//
// It reads through client-go's Reflector into client-go's ThreadSafeStore, writes nothing, and knows one cluster per
// Set.
//
// # Streams
//
// Memory grows with what is managed. Resources that we may label come through one stream per kind that selects our
// label. A resource that we may only look at is watched by its name. What may be related to an object of a consumer
// comes as metadata, and so does a selection whose names alone count: nobody knows how much there is. We rejected
// content as far as there is room, which is a bound to be counted, told and waited for. Managed fields are held as
// JSON: as maps they are half of a small resource. We rejected JSON of all of it, as each look would decode it. We
// rejected a stream of the whole kind, filtered here: a target with 20,000 ConfigMaps of other people would be read in
// full after each disconnect. We rejected the caches of controller-runtime: each resource that is watched by name would
// need its own, and namesakes of two workspaces would overwrite each other.
//
// # Lists
//
// Each list is the newest state: in an older one something new would seem to be gone. Where a target can do that, its
// lists come as streams: it may take longer for one than a body may be read. A stream that does not come to its end
// within a minute is asked for as an ordinary list. From the control plane lists are ordinary: a stream costs both
// sides twice the processor time. From all workspaces they are, too: reflectors gather streamed lists by namespace and
// name.
//
// # Outages and restored servers
//
// A watch that the server ends in time is resumed. After any other end the server is asked who it is, and whether it
// has come as far. It is listed if it is another one, has not, or cannot say: it may have been restored from a backup,
// and answers a watch from its future with silence. A list that is older than what the stream has delivered means that
// the server went back in its history. The list replaces everything, and all owners are woken. The informers of a
// manager get the same by NewInformer. We rejected a list only after a refused connection: a server that has just
// started refuses watches as a busy one does, and is then watched from its future. We rejected a list after each early
// end: load balancers cut idle connections.
//
// # Own writes
//
// The answer to a write is shown at once, so that the next look sees it, and wakes all but the writer; its echo then
// wakes nobody. The answer counts until the stream has come as far. We rejected holding back an echo that overtakes the
// answer: its writer looks once more, and requests nothing. We rejected ignoring everything older than what is held: a
// restored server gives its resource versions out again. Resource versions are integers that grow over the life of a
// resource type: https://github.com/kubernetes/enhancements/issues/5504
//
// # Bounds
//
// A list has a bound over all of its pages. A stream that brings more is left, forgotten and denied for a minute. We
// rejected holding what fits: nobody could tell what is missing from what does not exist.
//
// # Looks
//
// Who looks at something for a purpose is woken when it changes, until it says Done and has not looked since the last
// time. A pass that fails before it has looked at all does not say so, and keeps what it has.
//
// A look never blocks a worker for long. While a stream has not delivered its first list, Get waits 250 ms and then
// returns an error that crossplane-runtime requeues silently. A stream that the server denies is retried each minute,
// and its owners read live. A stream of names, or of all logical clusters, has no such substitute: it is retried when
// somebody looks. Each time, those who look are woken when it turns.
package informer
