// Package deletedearly remembers objects that are gone although a finalizer was to keep them.
//
// An API server that is asked to delete an object looks once whether it has finalizers. It accepts one that is added
// after that look, and deletes the object with it. Both requests succeed, and the resource that the object has made
// stays. With an admission webhook in between that window is seconds long. No order of writes prevents it.
//
// The event of the deletion shows the last state of such an object: it has the finalizer, and was never marked as being
// deleted. Its reconciler deletes what that object has made, as it does for one that is there, and then calls Finished.
// An object that takes the name meanwhile has its turn after that.
//
// We rejected to go by a write that finds the object gone: the last write of a reconcile may precede the deletion, and
// a user who removes the finalizer, to keep what the object has made, would be taken for this case.
//
// An object that is paused is left alone: nobody can resume it. A restart of the provider forgets what is remembered
// here, and a watch that begins anew from a list does not show what was deleted meanwhile: what such an object has made
// stays.
package deletedearly
