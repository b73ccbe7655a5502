// Package objectsync copies one object between a workspace and the service cluster: down as the consumer wants it, its
// status up, and its related objects either way.
//
// It writes the object's finalizer, status and annotations about related objects in the workspace; its copy, namespace
// and state on the service cluster; and copies of related objects on either side. It deletes copies it has made, and
// states, and nothing else.
//
// # Use
//
// New compiles a spec into a Syncer, once for each generation. Sync is one pass over one object: it reads a view, a
// planner, which reads and writes nothing, decides what each copy needs, and the pass executes that. If a server
// answers otherwise than the view says, the plan of that copy ends, and the next view shows why. The caller
//
//   - calls Sync when the object, its copy, its state or what it has looked at changes, never twice at a time;
//   - keeps caches that show what was written as soon as the write was answered. An error of a cache means that it is
//     not known yet;
//   - keeps Result.Related and what states tell (Held, HeldBy), from before the first Sync on, and gives them back
//     through Holders;
//   - retries errors, conflicts without a word. Events are for the consumer: they reveal nothing of the service
//     cluster. Errors are for the owner of the service, and name no value.
//
// # Decisions
//
// What has changed in the workspace since the last time is merged into the copy; all else stays. We rejected
// server-side apply: api-syncagent's copies have no field manager of ours, and its lists are replaced as a whole. A
// JSON merge patch cannot set nulls, so a JSON patch replaces the object then.
//
// Fields of the platform, such as spec.crossplane, are set by mutation alone, and never removed from a copy, which may
// live by them.
//
// An observedGeneration that comes up is that of the consumer's object if the operator has seen the copy as it is. Else
// what the workspace shows stays. A table of both generations would be a write for each change by an operator.
//
// The state of an object is a Secret by api-syncagent's name and in its layout. What is about to be created is
// remembered before, and what was patched after, so that a program that ends in between loses nothing. A state is
// written only over the version that was read, as a cache may show one of before a restore.
//
// An object is the copy if it is where the state records it, and says so or has the UID that is recorded: anybody can
// write labels. Without a state it is only where naming has it. A state that does not say where lets it be found by its
// labels: that of api-syncagent, and one that is rebuilt. We rejected to let an age decide, as Secrets are restored.
//
// A copy is an origin of nothing: two rules would copy each other's copies for ever.
//
// Copies and states name their publication until it leaves them behind, as those of two may have objects of one
// identity: kcps of one backup. UIDs of APIExports and addresses change.
//
// A namespace is labelled with the workspace before its first copy. The label alone tells whether a namespace may have
// copies of other workspaces that another provider has made.
//
// What a workspace hides is unknown and not gone. kcp answers for what a claim hides by labels as for what is gone, so
// that a related object that vanishes in spite of our finalizer is gone only if the binding shows all.
//
// A copy that a server does not let us change is made anew only if its origin has another UID than was recorded: after
// a restore each has another one, and all consumers would be interrupted.
package objectsync
