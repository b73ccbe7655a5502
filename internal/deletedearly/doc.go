// Package deletedearly lets reconcilers finish with objects that are gone although a finalizer was to keep them.
//
// An API server that is asked to delete an object looks once whether it has finalizers. One that is added after that
// look and before the object goes is accepted and lost with it: both requests succeed, and who has added the finalizer
// makes what nobody will take away. With an admission webhook in between that may take seconds.
//
// A Manager's client goes on to show such an object, as one that is being deleted, until the finalizer is removed. So a
// reconciler does for it what it does for any other: it deletes what it has made, by the same rules and in the same
// order, and releases what it holds. The client writes nothing about an object that is gone. It reads and writes all
// other objects as they are.
//
// # Decisions
//
// That an object is lost is seen in the event of its deletion, which tells its last state: it has the finalizer and was
// never marked as being deleted. Of an object whose finalizer was removed, by us or by force, neither holds. To go by a
// write that finds the object gone was rejected: the last write of a pass may precede the deletion, and a user who
// takes the finalizer off by force, to keep what the object has made, would be taken for the race.
//
// A status that could not be written, because the object was gone, is nevertheless what the object has last done. It is
// shown with it.
//
// One that is paused is left alone, with all that it has made, as when somebody takes its finalizer off. To wait until
// it goes on was rejected: nobody can tell it to.
//
// What is known of lost objects is in memory. Of an object that is lost while the provider is killed, or while its
// watch has to begin anew from a list, nobody learns: what it has made stays. No order of writes can prevent that, as
// the server has confirmed the finalizer.
//
// An object that takes the name of a lost one waits until that is finished with, as it would have to wait to be created
// if the finalizer had held. If that cannot be, say because its target is gone for good, a restart of the provider
// forgets it.
package deletedearly
