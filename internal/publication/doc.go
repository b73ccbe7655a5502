// Package publication keeps the objects of published APIs in step: it runs package objectsync for the objects of all
// workspaces.
//
// A Supervisor runs one publication for each PublishedResource. A new spec is compiled and its streams are filled
// before the old publication is drained, so that a wrong spec changes nothing. A syncWorker syncs its objects, each in
// a pass. The publication records what each pass has read, found or not, and syncs the object again when that changes.
//
// # Decisions
//
// There is one stream of all workspaces for each endpoint and resource, and one of everything with the owner's label on
// the service cluster. Related objects there carry no label of ours: their namespaces are watched, each as long as an
// object needs it, for metadata alone. An endpoint also shows objects of other APIExports with the same schema, so that
// bindings alone tell which workspaces count.
//
// Workspaces take turns, by package fairqueue; the queue of controller-runtime is not fair. Events go through
// client-go's broadcaster, eight for each endpoint: a workspace that leaves one unanswered holds up others once.
//
// A write that repeats one of the last pass has been undone by somebody. An object has as many of them at once as an
// Object has reverts, and then one a minute. We rejected to count all writes: operators report often.
//
// A copy is deleted if its object was seen with a deletionTimestamp, or if an operator deletes the copy. Nothing is
// concluded from absence: a restore, a move to another shard and a hand-over look like a deletion. An object is unseen
// if all endpoints that kcp names show all they have, and none shows it with a binding of its workspace. After a while
// its copy is an orphan then: it stays, has a label, and is counted.
//
// A namespace is deleted only if a label says that it was made to go, and a list of each kind shows nothing but what
// Kubernetes puts there: operators keep volumes and Secrets beside copies.
package publication
