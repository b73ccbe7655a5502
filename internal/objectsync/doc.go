// Package objectsync copies one object between a workspace and the service cluster: down as the consumer wants it, its
// status up, and its related objects either way.
//
// It writes the object's finalizer, status and annotations about related objects in the workspace; its copy, namespace
// and state on the service cluster; and copies of related objects on either side. It deletes copies it has made, and
// states, and nothing else.
//
// # Use
//
// New compiles a spec into a Syncer, once for each generation. Sync is one pass over one object: it reads the caches of
// both sides, writes what differs, and says in its Result what the consumer is to be told, which related objects it has
// resolved, and what it waits for. To call it again is free if nothing has changed. The caller
//
//   - calls Sync for an object when it, its copy (SourceOf tells whose it is), its state, its namespace if labels of
//     namespaces are filtered, or an object that it has looked at changes, and never for one object twice at a time;
//   - keeps caches that show what was written as soon as the write was answered, with copies by KeyOf. An error of a
//     cache means that it is not known yet;
//   - keeps the Related of each object, gives them back through Holders, and reads them from the states (Held, HeldBy)
//     after a start, before the first Sync;
//   - retries errors, conflicts without a word. Events are for the consumer: they reveal nothing of the service
//     cluster. Errors are for the owner of the service, and name no value.
//
// Release is for an object that is gone without our noticing, or whose workspace has left.
//
// # The way of an object
//
// docs/architecture.md names the files of each step. An object that is being deleted, or leaves the filter, gives up
// what belongs to it in this order: related objects, the copy, the state. Abandon does so for a workspace that leaves,
// but the copy stays. What is copied stands in the state before, and what is refused is told to the consumer.
//
// # Who may name what
//
// The rules of the service owner say where related objects are on the service cluster, and package related whether the
// consumer may name them. Nothing is read that may not be named, and nothing of it is noted. What was copied because
// the consumer has named it is remembered with its UID: another object in its place is admitted anew.
//
// An age says nothing, as Secrets are rotated by deletion and restored from backups. Labels say nothing either, as
// anybody who may write an object writes them.
//
// # Merging
//
// The workspace is the truth. What has changed there since the last time is merged into the copy, so that what webhooks
// and operators have changed of the copy stays until the consumer changes the same field. Server-side apply was
// rejected: copies taken over from api-syncagent have no field manager of ours, and lists without keys would be merged
// where the agent replaces them.
//
// # Fields of the platform
//
// Consumers have no say in the fields that the caller names, such as spec.crossplane. The object of a consumer is read
// without them, before anything is made of it: names, mutation, references, the copy. So what a workspace stores there
// has no effect, and steps of mutation, which come after, may set them. On the copy they are written if a step sets
// them, and never removed: those who run the service cluster write there, too. We rejected to remove what a step no
// longer sets, as nobody knows whether a consumer has written it when that was allowed, and the copy lives by it. In
// the status they do not come up.
//
// # Observed generations
//
// The copy has generations of its own: mutation takes changes of the consumer back, and operators write into the spec
// of the copy. So an observedGeneration that comes up becomes the one of the consumer's object if the operator has seen
// the copy as it is, and no change is on its way. Else what the workspace shows stays: it is of an earlier generation.
// A table of both generations in the state was rejected, as each change by an operator would be a write.
//
// # State
//
// What is remembered of the last time is one Secret for each object, by the agent's names, in the agent's layout. Where
// objects of two kinds, or two copies of one object, would share a place in it, each has one of its own. What is about
// to be created is remembered before, and what was patched after: a program that ends in between loses nothing, and
// repeats at most a patch that changes nothing. Records of related objects stand there too, so that a copy is known
// when the reference to it is gone; the agent does not see them. A copy has one record, whatever rules name it. A copy
// whose making has not been answered is recorded as such: what then has its name is ours only if it says so or, in a
// workspace, if it is what it was to be. A copy that a server refuses stays recorded so, and the next try writes
// nothing but the copy: to forget it again would be a write for each try, and each write would be a reason for another.
//
// A state is found by its labels and the kind in it, which never change: its name, which api-syncagent makes of the
// version of the API, does. A state that is found keeps its name, so that nothing has to be moved. A state that is lost
// is rebuilt from what copies say of themselves. What others have changed of them stays, and what the consumer has
// changed meanwhile comes with the next change.
//
// A copy that objects of a workspace share can be behind when one more comes to share it. All that is at the origin is
// written to it then, and what operators have added stays.
//
// # What is hidden
//
// What a workspace hides, because it has not accepted a permission claim, is unknown and not gone. Nothing is deleted
// or made again for it, and what stands there waits. kcp answers for what a claim hides by labels as for what is gone,
// so that a related object that vanishes in spite of our finalizer is gone only if the binding shows all.
//
// A copy that a server does not let us change is made anew only if its origin has another UID than was recorded:
// whoever made a field immutable may have meant it. To replace each copy whose origin is another one was rejected, as
// that would interrupt all consumers after a restore.
//
// # Ownership
//
// A state tells whose it is, but for those of api-syncagent. One of another owner or publication is not read, and a
// Secret that is none is not made one: what a state records is deleted one day.
//
// Publications of one owner may have objects of one identity: by APIExports of one name, or kcps of one backup. So
// copies and states name theirs, the PublishedResource and the APIExport, until it leaves them behind. What names none,
// as that of api-syncagent, belongs to who has the object. We rejected the identity of the APIExport, which two may
// share, UIDs, which a control plane that is set up anew does not have, and the address of kcp, which may change.
//
// A copy belongs to the object whose identity it carries. One with another identity, or another owner, is never taken
// or written. Beside the agent's labels, which do not tell the kind, copies get an annotation with it; copies of the
// agent get it with their next change.
//
// Copies of related objects in a workspace carry nothing of ours, and belong to whoever has recorded them. Those on the
// service cluster say whose they are from their creation on, and are recorded with their UID. What is there without
// either is not overwritten, nor is what somebody has made in the place of a copy. What records a copy is what it is of
// and where it is: an identifier and a version may change. A copy is an origin of nothing.
//
// # Other rules
//
// An API that the service cluster does not serve has no objects there, so that nobody waits for their deletion.
//
// Labels and annotations of crossplane.io, of kcp.io and below them, and kubectl's last applied configuration never
// pass, in no direction.
//
// An object that is being deleted is let go only after its copy, and that is deleted only after the consumer's own
// finalizers are gone. An object that leaves the filter is treated like one that is deleted, but stays. A related
// object that is synced by itself, which its state tells, is let go with that copy alone.
//
// A new object is tried to be created before its namespace is: that costs one request more for the first object of a
// workspace, and none to watch namespaces. Only if the name of a new copy or state is taken is anything read from a
// server.
package objectsync
