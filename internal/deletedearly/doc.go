// Package deletedearly remembers objects that are gone although a finalizer was to keep them.
//
// An API server looks once whether an object that it is to delete has finalizers. It accepts one that is added after
// that look, and deletes the object with it: the resource that the object has made stays. The event of the deletion
// shows the last state of such an object: it has the finalizer, and was never marked as being deleted. Its reconciler
// deletes what the object has made, and then calls Finished. We rejected to go by a write that finds the object gone: a
// user who removes the finalizer, to keep what the object has made, would be taken for this case.
package deletedearly
