// Package informer keeps copies of the resources of one cluster that somebody has asked for, and wakes who asked when
// one changes.
//
// It watches through client-go reflectors, writes nothing, and speaks to one cluster per Set.
//
// # Decisions
//
// Memory grows with what is managed. A resource we may label is watched through one stream per kind that selects our
// label, so that the other resources of that kind never reach us; a resource we may only look at is watched by its
// name. A stream of the whole kind, filtered here, was rejected: a target with 20,000 ConfigMaps of other people would
// be read in full after each disconnect.
//
// Whoever wants to know which resources a selector selects gets a stream of metadata, of which only the names are kept.
// Its list is consistent and in pages: the older list that a server may give from its memory could lack resources that
// exist, and who deletes what is not in the list must not be misled.
//
// Streams feed a store of our own instead of a shared informer. The store compares resource versions, which lets
// Writing add the answer to a write at once: the next look reads its own write, and the echo of that write from the
// stream wakes nobody. Resource versions are integers that grow over the life of a resource type:
// https://github.com/kubernetes/enhancements/issues/5504
//
// The store keeps the answer to a write apart from what the stream tells. The answer counts until the stream has come
// as far. To ignore all that is older than what is held was rejected: a server that is restored from a backup gives its
// resource versions out again, and what its stream tells then would be ignored until the counter has caught up.
//
// A list that is older than what its stream has told before means that the server went back in its history. The list
// replaces all, its owners are woken, the other streams of the server list again, and whoever runs the Set is told
// once.
//
// A watchSupervisor stands between each reflector and its server, and between those of a manager's informers. It ends a
// watch that the server does not end in time, or that has gone silent although the server sends bookmarks. A watch that
// ended before its time is resumed only if the server says that it has come as far: it answers a watch from its future
// with silence. To list after each such end was rejected: a load balancer that cuts idle connections each minute would
// have all resources sent each minute.
//
// What a server may make us hold has a bound, where one is set: of a list, whether it comes in pages or as a stream,
// and of all that the streams of a Set bring later. A stream that brings more is left, forgotten and denied for a while
// that doubles. To hold what fits and ignore the rest was rejected: nobody could tell what is missing from what does
// not exist.
//
// Streams that begin anew after a failure take turns, a few milliseconds apart: after a restart of their server, ten
// thousand that each show one resource would list at once.
//
// A look never blocks a worker for long. While a stream has not delivered its first list, Get waits a moment and then
// returns an error that crossplane-runtime requeues without a word; the owner is woken when the list arrives.
//
// A stream that the server denies is retried each minute and reported as denied, so that the caller can read live
// instead. A stream of names, or of all logical clusters, has no such substitute: it is retried when somebody looks,
// though not at once.
//
// For a minute after a kick all that are denied are retried every two seconds: a server that has just started does not
// know yet who may do what.
package informer
