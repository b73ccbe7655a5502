// Package publishedresource reconciles PublishedResources: it keeps the API that each names on a service cluster
// published in an APIExport of kcp.
//
// It watches PublishedResources, their ProviderConfigs and the Secrets those name on the control plane; the
// CustomResourceDefinition on the service cluster; in the workspace of the APIExport that APIExport, its endpoints and
// the names of all schemas; and through the endpoints the bindings of consumers. It creates schemas, and creates or
// changes the APIExport. It never changes a schema, never takes from an APIExport what it has not added, and deletes
// only what deletionPolicy asks for.
//
// # Phases
//
// crossplane-runtime's reconciler keeps policies, pauses, finalizers, metrics and change logs, and calls Observe,
// Create, Update and Delete. Each of them runs phases on a pass, which is what one reconcile has found out: publisher
// compares and publishes, consumers looks at who uses the API, syncing has their objects synced, and withdrawal
// withdraws the API. The conditions are functions of the pass, written once at its end.
//
// # Publishing
//
// Publishing is two requests: a schema is created under a name made of its content, and then the APIExport refers to
// it. A provider that is killed between them finds the schema when it starts again. What was published is read from the
// APIExport; the status has the name of the schema before. A version that is published no more stays in the schema, as
// kcp may store objects in it. We rejected to go by the versions that APIBindings name: one that is just made, or out
// of view, tells nothing.
//
// A spec is compiled before anything is asked of anybody. What of it does not compile is reported, and what is served
// goes on. We rejected to compile it with the first consumer: nobody would hear of a broken template until then.
//
// # Changes that do not fit
//
// With schemaUpdates: Compatible a change is compared with the schema that the status names. It is read again after a
// restart. While it is held back, the schema and the versions of what is published count for all that follows. We
// rejected to publish the part of a change that fits: nobody has designed such an API.
//
// # Steady state
//
// A published API in steady state makes no API calls. Everything that is compared comes from watches, which the
// PublishedResources of a workspace share. Of schemas only the names are watched, because schemas cannot change. We
// rejected a stream for each schema, and the memory for all of them.
//
// # Sources
//
// The CustomResourceDefinition of a kind is found by its name, <plural>.<group>, and the spec has only the group.
// The names of all definitions are watched until the right one is there, and new ones of the group are read once each,
// those that are called like the kind first.
// Kinds without a definition are built in, and read from the server's OpenAPI. A kind that once had a definition is not
// built in, although discovery may name it for a moment after the definition has gone. We rejected discovery, which
// lags behind and cannot be watched.
//
// If the source goes, everything stays as it is: consumers have objects of it, and somebody may be replacing a
// definition by deleting it.
//
// # Memory
//
// What is kept of a PublishedResource between reconciles is one structure without a lock, because one worker has a
// PublishedResource at a time. Only what PublishedResources ask of each other is locked: which of them has which
// resource of an APIExport, as only one may offer it. That one keeps it, also after a restart, because the status
// records it. Two providers do not share that lock.
//
// # Several providers
//
// A selector decides which PublishedResources a provider reconciles. The others stay in its cache, because they may
// offer the same resource, and are left as they are when they stop to be selected. We rejected a cache that selects: an
// object that leaves it looks like one that is deleted, and its API would be withdrawn.
//
// # Reports
//
// An endpoint that does not answer is reported and does not fail a pass: the others serve, and schemas can be
// published. Each publication and each APIBinding has an endpoint that does not serve the API yet, or a workspace in
// which kcp has not established it yet, for a moment: conditions say so until it does. Conditions alone tell, and
// events do not repeat them.
//
// A status is written each second at most, and not for two seconds after a publication: each write makes everyone who
// has read the PublishedResource and then updates it start again.
//
// # Deletion
//
// A deleted PublishedResource that withdraws its API goes by what it has last published, not by what the source says.
// It waits until consumers have no objects: withdrawing an API strands its objects where nobody can reach them. It does
// not wait for bindings, because the APIExport may offer other APIs. Where watches show no objects, kcp is asked once
// before the API goes. We rejected to go by the watches alone: the first list of each may come from a cache of the
// server that lags behind. Who there is to ask is what the APIExportEndpointSlice names: a shard of kcp takes its own
// URL out of it, with its last binding. We rejected to ask the endpoints of before, too.
package publishedresource
