// Package informer keeps copies of the resources of one cluster that somebody has asked for, and wakes who asked when
// one changes.
//
// It watches through client-go reflectors, writes nothing, and speaks to one cluster per Set.
//
// # Streams
//
// Memory grows with what is managed. Resources that we may label come through one stream per kind that selects our
// label, so that other resources of the kind never reach us. A resource that we may only look at is watched by its
// name. We rejected a stream of the whole kind, filtered here: a target with 20,000 ConfigMaps of other people would be
// read in full after each disconnect.
//
// Anyone who asks which resources a selector selects gets a stream of metadata, of which only the names are kept. Its
// list is consistent and in pages. An older list from the server's memory could lack resources, and whoever deletes
// what is not in the list must not be misled.
//
// # Store
//
// Streams feed a store of our own instead of a shared informer. The store compares resource versions, so that Writing
// can add the answer to a write at once: the next look reads its own write, and the echo of the write wakes nobody.
// Resource versions are integers that grow over the life of a resource type:
// https://github.com/kubernetes/enhancements/issues/5504
//
// The store keeps the answer to a write apart from what the stream delivers. The answer counts until the stream has
// come as far. We rejected ignoring everything older than what is held: a server that is restored from a backup gives
// its resource versions out again, and its changes would be ignored until the counter has caught up.
//
// # Shared states
//
// Sets with one Interner hold a state of a resource once, however many connections show it: 200 users of a cluster
// with 1,000 resources cost 31 MB instead of 1 GB. The UID and the resource version only find the state. It is shared
// if every value is equal, because a hostile server can claim any UID. We rejected trust in the address of the server:
// a proxy may show each user something else. States are found through weak pointers, so nobody has to give them back.
//
// # Restored servers
//
// A list that is older than what its stream has delivered before means that the server went back in its history. The
// list replaces everything, all owners are woken, the other streams of the server list again, and the user of the Set
// is told once.
//
// # Supervised watches
//
// A watchSupervisor stands between each reflector and its server, and between those of a manager's informers. It ends a
// watch that the server does not end in time, or that is silent although the server sends bookmarks. A watch that ended
// early is resumed only if the server says that it has come as far: a server answers a watch from its future with
// silence. We rejected a list after each such end: a load balancer that cuts idle connections each minute would have
// all resources sent each minute.
//
// # Bounds
//
// Where a bound is set, it holds for each list, whether it comes in pages or as a stream, and for everything that the
// streams of a Set hold. A stream that brings more is left, forgotten and denied for a while that doubles. We rejected
// holding what fits: nobody could tell what is missing from what does not exist.
//
// # Turns
//
// Streams that begin anew after a failure take turns, a few milliseconds apart. After a restart of their server, ten
// thousand streams of one resource each would list at once.
//
// # Looks
//
// A look never blocks a worker for long. While a stream has not delivered its first list, Get waits 250 ms and then
// returns an error that crossplane-runtime requeues silently. The owner is woken when the list arrives.
//
// # Denied streams
//
// A stream that the server denies is retried each minute and reported as denied, so that the caller can read live
// instead. A stream of names, or of all logical clusters, has no such substitute: it is retried when somebody looks,
// but not at once. For a minute after a kick, denied streams are retried every two seconds, because a server that has
// just started does not know yet who may do what.
package informer
