// Package publication keeps the objects of published APIs in step: it runs package objectsync for the objects of all
// workspaces.
//
// It watches the objects of a PublishedResource through the endpoints of its APIExport, their copies and states on the
// service cluster, and their related objects on both sides. It writes what objectsync writes, and events for consumers.
//
// # Supervisor
//
// A Supervisor runs one publication for each PublishedResource. A new spec is compiled and its streams are filled
// before the old publication is drained. So a wrong spec changes nothing, and no object is synced by two publications
// at once.
//
// # Streams
//
// Everyone who looks at the same resources through the same connection shares a stream: one of all workspaces for each
// endpoint and resource, and one of everything with the owner's label on the service cluster. Related objects on the
// service cluster carry no label of ours, so their namespaces are watched, each as long as an object needs it. We
// rejected a stream of all Secrets of the cluster, for its memory and its rights, and a stream for each name, for the
// number of connections.
//
// An endpoint shows objects of other APIExports with the same schema. So bindings alone tell which workspaces count.
//
// # Records
//
// An object and a workspace have one record each, which goes with the last that is left of them. We rejected a map for
// each fact, with a lock of its own and a search for what can be forgotten.
//
// # Needs
//
// The publication records what each sync has read, found or not, and syncs the object again when that changes. So
// nobody has to configure watches, and no server is asked whom a change concerns. The same index knows which streams
// are needed, and how many namespaces a workspace has looked at. Who holds which related objects is known to all
// publications of a service cluster together: otherwise an object of one API could get what another one is refused.
//
// # Fair queue
//
// Workspaces take turns, by package fairqueue. One with much to do delays others by no more than what is under way, has
// a third of the workers at most, and leaves some to others however long its requests hang. Each sync has a deadline.
// What only a change cures is retried rarely. We rejected a FIFO queue and the priorities of controller-runtime, which
// are not fair between workspaces. We rejected a controller of controller-runtime for each publication: its workers are
// goroutines that wait, its metrics of one name are wrong for several controllers, and it logs what a panic was about.
//
// # Events
//
// Each workspace has a short queue of its own for events, which is written one event at a time. Workspaces take turns.
// So a burst of one workspace, or its webhook that hangs, costs no other an event. What does not fit or cannot be
// written is dropped and counted, without a second try. client-go's filter bounds what repeats. The queues outlive a
// spec, because events are about objects. We rejected client-go's broadcaster: it has one queue for all and drops
// without a count. We rejected to keep events for minutes: queues of thousands, with ages.
//
// # Objects and workspaces that go
//
// An object that is gone although our finalizer did not hold it is read from the server once more before its copy is
// deleted.
//
// A workspace is gone only if the endpoint that has shown it shows it no more, and confirms that when it is asked
// before the copies are given up. Copies of a workspace that left while the program did not run stay: endpoints refuse
// to tell of it in the same words as of a workspace of another shard. A workspace whose objects have our finalizer
// cannot leave unnoticed.
//
// If kcp goes back in its history while the program runs, what is missing there was undone and not deleted, so its
// copies stay. The operator deletes them, or a consumer makes the objects again. A restore while the program does not
// run is not noticed.
//
// # Unbinding
//
// kcp deletes the objects of a workspace that unbinds the API after it has begun to delete the APIBinding. So the
// bindings of a workspace are read once after some of its objects are deleted, at most every half second, unless copies
// are to go with workspaces. A copy that stays is marked, so that it is known after a restart, and when the workspace
// binds the API again. We rejected a watch of bindings, because nothing says that it is as late as the watch of
// objects.
//
// When a workspace is deleted, kcp deletes its objects before or after its APIBinding, as the version and chance have
// it. Its LogicalCluster tells for certain, and nearly so the namespace "default", which cannot be deleted otherwise:
// kcp lets each namespace rest for five seconds while it deletes the others. Of what the consumer shows, both are read
// together with the bindings. Where it shows neither, an object in a namespace is known to go with its workspace only
// if the binding is being deleted within those five seconds. We rejected claiming the LogicalCluster for everybody: all
// consumers would have to accept one claim more.
//
// # Empty namespaces
//
// A namespace is deleted only if a label says that it was made to go, and a list of each kind shows nothing but what
// Kubernetes puts there. Whatever any publication has created in it since that list keeps it. We rejected looking at
// our own copies alone, because operators keep volumes and Secrets beside them.
package publication
