// Package publication keeps the objects of published APIs in step: it runs package objectsync for the objects of all
// workspaces.
//
// It watches the objects of a PublishedResource through the endpoints of its APIExport, their copies and states on the
// service cluster, and their related objects on both sides.
//
// A Supervisor runs one publication for each PublishedResource. A new spec is compiled and its streams are filled
// before the old publication is drained, so that a wrong spec changes nothing. A syncWorker syncs the objects of a
// publication, each in a pass. Workspaces, objects, streams, needs, looks at bindings, empty namespaces and events are
// types of their own.
//
// # Streams
//
// Everyone who looks at the same resources through the same connection shares a stream: one of all workspaces for each
// endpoint and resource, and one of everything with the owner's label on the service cluster. Related objects there
// carry no label of ours, so their namespaces are watched, each as long as an object needs it. An endpoint shows
// objects of other APIExports with the same schema. So bindings alone tell which workspaces count.
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
// has a third of the workers at most. We rejected a controller of controller-runtime, whose queue is not fair. Each
// workspace has a short queue of its own for events, so that a burst of one, or its webhook that hangs, costs no other
// an event. We rejected client-go's broadcaster: it has one queue for all and drops without a count.
//
// # Fights
//
// A write that repeats one of the last pass has been undone by somebody. An object has as many of them at once as an
// Object has reverts, and then one a minute. We rejected to count all writes: operators report often.
//
// # Objects and workspaces that go
//
// An object that is gone although our finalizer did not hold it is read from the server once more before its copy is
// deleted, and then the binding of its workspace: where that is missing, too, the object may be elsewhere.
//
// A workspace has left only if kcp was deleting its binding, if the endpoint that has shown it shows it no more, and if
// that endpoint confirms it when it is asked. kcp moves a workspace to another shard without deleting anything in it:
// until an endpoint shows it again, nothing is known of it. We rejected to go by the endpoint alone: the copies of
// workspaces that move would go. Copies of a workspace that left while the program did not run stay: endpoints refuse
// to tell of it in the same words as of a workspace of another shard. If kcp goes back in its history while the program
// runs, what is missing there was undone and not deleted, so its copies stay.
//
// # Unbinding
//
// The bindings of a workspace are read once after some of its objects are deleted, at most every half second, unless
// copies are to go with workspaces. We rejected a watch of bindings, because nothing says that it is as late as the
// watch of objects. When a workspace is deleted, kcp deletes its objects before or after its APIBinding: its
// LogicalCluster tells, and nearly so the namespace "default", as far as the consumer shows them.
//
// # Empty namespaces
//
// A namespace is deleted only if a label says that it was made to go, and a list of each kind shows nothing but what
// Kubernetes puts there. We rejected looking at our own copies alone: operators keep volumes and Secrets beside them.
package publication
