// Package publication keeps the objects of published APIs in step: it runs package objectsync for the objects of all
// workspaces.
//
// It watches the objects of a PublishedResource through the endpoints of its APIExport, their copies and states on the
// service cluster, and what they are related to on both sides. It writes what objectsync writes, and events for
// consumers.
//
// # Decisions
//
// A Supervisor runs one publication for each PublishedResource. A new spec is compiled and its streams are filled
// before the publication of the old one is drained, so that a spec that is wrong changes nothing and no object is
// synced by two at a time.
//
// Streams are shared by all who look at the same resources through the same connection: one of all workspaces for each
// endpoint and resource, and one of what carries the label of the owner on the service cluster. Related objects on the
// service cluster carry no label of ours, so that their namespaces are watched, each as long as an object needs it. A
// stream of all Secrets of the cluster was rejected for its memory and for the rights it takes, and a stream for each
// name for the number of connections.
//
// Whoever is synced has what it has looked at recorded, found or not, and is woken when that changes. So nothing is
// asked of a server to find out whom a change concerns, and nobody has to configure it.
//
// Who holds which related objects is known to all publications of a service cluster together: else what is refused to
// an object of one API could be had by one of another.
//
// Workspaces take turns in the queue: one that has much to do delays others by no more than what is under way. A FIFO
// queue, and priorities as controller-runtime has them, do not do that. A quarter of the workers is kept for workspaces
// with little under way, and each sync has a deadline, so that a workspace whose requests hang does not hold all
// workers. What only a change cures is tried again seldom.
//
// Each workspace has a queue of its own for events, from which one is written at a time, so that a burst of one
// workspace, or a webhook of it that hangs, costs no other an event. client-go's broadcaster was rejected: it has one
// queue, drops what it has no room for without a count, and limits how often an object is told of by what is no
// Warning, too. The queues outlive a spec, as events are of the objects.
//
// What is gone at the source without our finalizer having held it is read from the server once more before its copy is
// deleted.
//
// A workspace counts as gone only if the endpoint that has shown it shows it no more, and says so once more when it is
// asked before its copies are given up. A workspace that left while the program did not run is never known to be gone,
// and its copies stay as they are: endpoints refuse to tell of it in the same words as of a workspace of another shard.
// As long as our finalizer is on its objects it cannot leave unnoticed.
//
// If kcp goes back in its history while the program runs, what is missing there was undone and not deleted: its copies
// are left behind. Who deletes them is the operator, or a consumer that makes the objects again. A restore while the
// program does not run is not noticed.
//
// kcp deletes the objects of a workspace that unbinds the API after its APIBinding is being deleted. So the bindings of
// a workspace are read once after some of its objects are deleted, every half second at most, unless copies are to go
// with workspaces: a look at a stream of bindings would not do, as nothing says that it is as late as the stream of
// objects. A copy that is left behind is marked, so that it is known as such after a restart, and when the workspace
// binds the API again.
//
// Of a workspace that is deleted, kcp deletes namespaces and APIBindings one after the other, in any order. Objects
// without a namespace go with their binding, and others with their namespace, which kcp lets rest for five seconds
// first. That is what makes the look at the bindings right for them, too: only if kcp took longer from a namespace to a
// binding would copies be deleted that are to stay. The LogicalCluster would tell for sure, but to read it takes a
// claim that most do without, and a request for each deletion.
//
// A namespace goes only if it was made to go, by a label, and if a list of each kind says that nothing is in it but
// what Kubernetes puts there. To go by our own copies alone was rejected: operators keep volumes and Secrets beside
// them. What any publication has created in it since that list was made keeps it, too.
package publication
