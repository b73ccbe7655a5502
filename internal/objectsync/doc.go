// Package objectsync copies one object between a workspace and the service cluster: down as the consumer wants it, its status up, and its
// related objects either way.
//
// It writes the object's finalizer, status and annotations about related objects in the workspace; its copy, namespace and state on the
// service cluster; and copies of related objects on either side. It deletes copies it has made, and states, and nothing else.
//
// # Use
//
// New compiles a spec into a Syncer, once for each generation. Sync is one pass over one object: it reads the caches of both sides, writes
// what differs, and says in its Result what the consumer is to be told, which related objects it has resolved, and what it waits for. To
// call it again is free if nothing has changed. The caller
//
//   - calls Sync for an object when it, its copy (SourceOf tells whose it is), its state, its namespace if labels of namespaces are
//     filtered, or an object of Result.Related changes, and never for one object twice at a time;
//   - keeps caches that show what was written as soon as the write was answered, with copies by KeyOf. An error of a cache means that it
//     is not known yet;
//   - keeps the Related of each object, gives them back through Holders, and reads them from the states (Held, HeldBy) after a start, before
//     the first Sync;
//   - retries errors, conflicts without a word. Events are for the consumer: they reveal nothing of the service cluster. Errors are for
//     the owner of the service, and name no value.
//
// Release is for an object that is gone without our noticing, or whose workspace has left.
//
// # Decisions
//
// The workspace is the truth. What has changed there since the last time is merged into the copy, so that what webhooks and operators have
// changed of the copy stays until the consumer changes the same field. Server-side apply was rejected: copies taken over from
// api-syncagent have no field manager of ours, and lists without keys would be merged where the agent replaces them.
//
// What is remembered of the last time is one Secret for each object, by the agent's names, in the agent's layout. Where two objects would
// share a place in it, the second has one of its own. What is about to be created is remembered before, and what was patched after: a
// program that ends in between loses nothing, and repeats at most a patch that changes nothing. Records of related objects stand there too,
// so that a copy is known when the reference to it is gone; the agent does not see them. A copy whose making has not been answered is recorded as
// such: what then has its name is ours only if it is what it was to be.
//
// A state tells whose it is, but for those of api-syncagent. One of another owner is not read, and a Secret that is none is not made one: what a
// state records is deleted one day.
//
// A copy belongs to the object whose identity it carries. One with another identity, or another owner, is never taken or written. Beside the
// agent's labels, which do not tell the kind, copies get an annotation with it; copies of the agent get it with their next change.
//
// Related objects carry nothing of ours, so that a copy belongs to whoever has recorded it. A copy that is there without a record is not
// overwritten. What records a copy is what it is of and where it is: an identifier and a version may change. An object of the service cluster
// that a consumer has a say in naming is copied up only if it has come about for that consumer: it is in a namespace of the workspace, younger
// than the copy, or belongs to it. Else any tenant could read any Secret of a shared namespace. Who has a say in a name is found out by
// trial: it is, if another name comes of other values. Rejected was to read it from the rules, as templates and expressions are programs.
//
// An API that the service cluster does not serve has no objects there, so that nobody waits for their deletion.
//
// Labels and annotations of crossplane.io, of kcp.io and below them, and kubectl's last applied configuration never pass, in no direction.
//
// An object that is being deleted is let go only after its copy, and that is deleted only after the consumer's own finalizers are gone. An
// object that leaves the filter is treated like one that is deleted, but stays. A related object that is synced by itself, which its state
// tells, is let go with that copy alone.
//
// A new object is tried to be created before its namespace is: that costs one request more for the first object of a workspace, and none
// to watch namespaces. Only if the name of a new copy or state is taken is anything read from a server.
package objectsync
