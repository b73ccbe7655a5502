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
// resolved. To call it again is free if nothing has changed. The caller
//
//   - calls Sync for an object when it, its copy (SourceOf tells whose it is), its state, its namespace if labels of
//     namespaces are filtered, or an object that it has looked at changes, and never for one object twice at a time;
//   - keeps caches that show what was written as soon as the write was answered, with copies by KeyOf. An error of a
//     cache means that it is not known yet;
//   - keeps the Related of each object and what its state tells (Held, HeldBy), from before the first Sync on, and
//     gives them back through Holders;
//   - retries errors, conflicts without a word. Events are for the consumer: they reveal nothing of the service
//     cluster. Errors are for the owner of the service, and name no value.
//
// Left, Release and Abandon are for an object that is gone without our noticing, or whose workspace has left.
//
// # A pass
//
// A pass reads a view of the object, its state and its copy. A planner decides what the copy needs, and the pass
// executes that plan. Then it is the turn of related objects, whose names depend on the copy: a finder reads those that
// the consumer may name. Caches hold their metadata. The content of each is read before it is planned, and let go of
// after that unless it is to be written, so that no more is held than fits into a state. What was in step with its copy
// and has not changed is not read. If a server answers otherwise than the view says, the plan of that copy ends; the
// next view shows why. The planner reads and writes nothing, so that tables show its rules.
//
// What is given up is not planned: who else needs a related object is known only once this one does not any more. An
// object that is being deleted, or leaves the filter, gives up related objects, the copy and the state, in this order.
// It waits for the finalizers of others, and goes after its copy.
//
// # Merging
//
// The workspace is the truth. What has changed there since the last time is merged into the copy, so that what webhooks
// and operators have changed of the copy stays until the consumer changes the same field. Server-side apply was
// rejected: copies taken over from api-syncagent have no field manager of ours, and lists without keys would be merged
// where the agent replaces them.
//
// Consumers have no say in the fields of the platform, such as spec.crossplane. Their objects are read without them,
// before anything is made of these. On the copy they are written if a step of mutation sets them, and never removed:
// the copy may live by them.
//
// An observedGeneration that comes up becomes the one of the consumer's object if the operator has seen the copy as it
// is. Else what the workspace shows stays. A table of both generations was rejected, as each change by an operator
// would be a write.
//
// A JSON merge patch cannot set nulls. Where one is to be set, a JSON patch replaces the object as it was read.
//
// # State
//
// What is remembered of an object is one Secret, by the agent's name, in the agent's layout. It is found by its labels
// and the kind in it, as its name has the version of the API in it. What is about to be created is remembered before,
// and what was patched after: a program that ends in between loses nothing, and repeats at most a patch that changes
// nothing. A copy that a server refuses stays remembered so: to forget it would be a write for each try.
//
// After a restore of the service cluster copies or states may be shown for a while as they were before. So a state is
// written only over the version that was read. A copy that seems to have a change is patched with its version.
//
// A state that is lost is rebuilt. What others have changed of copies stays then, and what the consumer has changed
// meanwhile comes with the next change. A state of another owner or publication is not read, and a Secret that is none
// is not made one: what a state records is deleted one day.
//
// # Whose a copy is
//
// A copy is where the state records it, and says that it is the copy or has the UID that is recorded. What says so
// elsewhere was written by somebody else, and what neither says so nor has the UID was made by somebody when there was
// no copy: it is neither written nor deleted. The place is recorded before the copy is made, the UID with the next
// write. A related copy in a workspace says so by the field manager that has made it: it carries no more than one of
// api-syncagent.
//
// Without a state a copy is only where naming has it, or the rule for related objects. A state that does not say where
// the copy is lets it be found by what it says: that of api-syncagent, and one that is rebuilt while related objects
// are not known. Two such copies are refused. We rejected to let an age decide, as Secrets are rotated by deletion and
// restored from backups, and to write states when they are taken over.
//
// A copy is an origin of nothing. Where an API is both published and related, a copy that states do not deny is no
// related object, and what has come up as related is not synced down: each would make one more of the other for ever.
//
// Publications of one owner may have objects of one identity: by APIExports of one name, or kcps of one backup. So
// copies and states name theirs until it leaves them behind. What names none, as that of api-syncagent, belongs to who
// has the object. UIDs of APIExports and addresses were rejected, as they change.
//
// A namespace that is made for a copy, or gets a first one, is labelled with the workspace before: what a process
// serves just now tells neither of other providers nor of what is not synced. We rejected to look for copies of all
// kinds, and states in other namespaces, as nobody may have to read these.
//
// # What is hidden
//
// What a workspace hides, because it has not accepted a permission claim, is unknown and not gone. Nothing is deleted
// or made again for it. kcp answers for what a claim hides by labels as for what is gone, so that a related object that
// vanishes in spite of our finalizer is gone only if the binding shows all.
//
// A copy that a server does not let us change is made anew only if its origin has another UID than was recorded. To
// replace each copy whose origin is another one was rejected, as that would interrupt all consumers after a restore.
package objectsync
