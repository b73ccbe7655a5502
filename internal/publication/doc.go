// Package publication keeps the objects of published APIs in step: it runs package objectsync for the objects of all
// workspaces.
//
// It watches the objects of a PublishedResource through the endpoints of its APIExport, their copies and states on the
// service cluster, and their related objects on both sides.
//
// A Supervisor runs one publication for each PublishedResource. A new spec is compiled and its streams are filled
// before the old publication is drained, so that a wrong spec changes nothing. A syncWorker syncs the objects of a
// publication, each in a pass. Workspaces, objects, streams, needs, empty namespaces and events are types of their own.
//
// # Streams
//
// Everyone who looks at the same resources through the same connection shares a stream: one of all workspaces for each
// endpoint and resource, and one of everything with the owner's label on the service cluster. Related objects there
// carry no label of ours, so their namespaces are watched, each as long as an object needs it. Streams of related
// objects are of metadata. An endpoint shows objects of other APIExports with the same schema. So bindings alone tell
// which workspaces count.
//
// # Needs
//
// The publication records what each sync has read, found or not, and syncs the object again when that changes. So
// nobody has to configure watches, and no server is asked whom a change concerns. Who holds which related objects is
// known to all publications of a service cluster together.
//
// # Fair queue
//
// Workspaces take turns, by package fairqueue. One with much to do delays others by no more than what is under way, and
// has a third of the workers at most. We rejected a controller of controller-runtime, whose queue is not fair. Events
// go through client-go's broadcaster, eight for each endpoint, which share the workspaces: one that leaves an event
// unanswered holds up those of others once, and nobody's sync.
//
// # Fights
//
// A write that repeats one of the last pass has been undone by somebody. An object has as many of them at once as an
// Object has reverts, and then one a minute. We rejected to count all writes: operators report often.
//
// # Objects that go
//
// A copy is deleted if its object was seen with a deletionTimestamp, or if an operator deletes the copy. Our finalizer
// is on each object before its copy is made, and kcp shows every object that is being deleted, also those of
// APIBindings and workspaces that are, so that nothing has to be concluded from absence. We rejected to do so: a
// restore, a move to another shard, and a hand-over to another APIExport all look like a deletion, and each needed
// evidence of its own.
//
// An object is seen if an endpoint shows it and a binding of its workspace. It is unseen if all endpoints that kcp
// names show all they have, and none shows it so. After a while its copy is an orphan then: it stays, has a label, and
// is counted. Otherwise nothing is known, and nothing is done.
//
// # Empty namespaces
//
// A namespace is deleted only if a label says that it was made to go, and a list of each kind shows nothing but what
// Kubernetes puts there. We rejected looking at our own copies alone: operators keep volumes and Secrets beside them.
package publication
