// Package informer keeps copies of the resources of one cluster that somebody has asked for, and wakes who asked when
// one changes. It reads through client-go's Reflector into client-go's ThreadSafeStore, and writes nothing.
//
// # Streams
//
// Memory grows with what is managed. Resources that we may label come through one stream per kind that selects our
// label. A resource that we may only look at is watched by its name. What may be related to an object of a consumer
// comes as metadata, as nobody knows how much there is. Managed fields are held as JSON: as maps they are half of a
// small resource. We rejected the caches of controller-runtime: each resource that is watched by name would need its
// own, and namesakes of two workspaces would overwrite each other.
//
// # Lists
//
// Each list is the newest state: in an older one something new would seem to be gone. Lists of targets come as streams
// where that works within a minute, as it may take longer to read one than a body. Those of the control plane do not: a
// stream costs both sides twice the processor time.
//
// # Outages and restored servers
//
// A watch that the server ends in time is resumed. After any other end the server is asked who it is, and whether it
// has come as far. It is listed if it is another one, has not, or cannot say: it may have been restored from a backup,
// and answers a watch from its future with silence. A list that is older than what the stream has delivered means that
// the server went back in its history: all owners are woken. The informers of a manager get the same by NewInformer. We
// rejected a list after each early end: load balancers cut idle connections.
//
// # Own writes
//
// The answer to a write is shown at once, and wakes all but the writer; its echo then wakes nobody. The answer counts
// until the stream has come as far. We rejected ignoring everything older than what is held: a restored server gives
// its resource versions out again. Resource versions are integers that grow over the life of a resource type:
// https://github.com/kubernetes/enhancements/issues/5504
//
// # Looks
//
// Who looks at something for a purpose is woken when it changes, until it says Done and has not looked since the last
// time. While a stream has not delivered its first list, Get waits 250 ms and then returns an error that
// crossplane-runtime requeues silently. A stream that the server denies, or that brings more than its bound, is
// forgotten and retried each minute, and its owners read live. One of names, or of all logical clusters, is retried
// when somebody looks.
package informer
