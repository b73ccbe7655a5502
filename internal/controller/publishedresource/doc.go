// Package publishedresource reconciles PublishedResources: it keeps the API that each names on a service cluster
// published in an APIExport of kcp.
//
// On the control plane it watches PublishedResources, their ProviderConfigs and the Secrets of those. On the service
// cluster it watches the CustomResourceDefinition. In the workspace of the APIExport it watches that APIExport, its
// endpoints and the names of all schemas, and through the endpoints the bindings of consumers. It creates schemas, and
// creates or changes the APIExport. It never changes a schema, never removes from an APIExport what it has not added,
// and deletes only what deletionPolicy says.
//
// # Phases
//
// crossplane-runtime's reconciler handles policies, pauses, finalizers, metrics and change logs, and calls Observe,
// Create, Update and Delete. Each of these runs phases on a pass, which holds what one reconcile has found: publisher
// compares and publishes, consumers reads who uses the API and has their objects synced, and withdrawal withdraws the
// API. The conditions are computed from the pass and written once at its end.
//
// # Publishing
//
// Publishing takes two requests: one creates a schema, named by a hash of its content, and one makes the APIExport
// refer to it. If the provider is killed between them, it finds the schema when it starts again. The APIExport says
// what is published; the status has the name of the former schema. A version that is no longer published stays in the
// schema, because kcp may store objects in it. We rejected to read the versions that APIBindings name: a new binding
// names none yet, and one that we cannot see may use any.
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
// rejected a stream for each schema: it would hold all schemas in memory.
//
// # Sources
//
// A CustomResourceDefinition is named <plural>.<group>, and the spec has the kind and not the plural. So the names of
// all definitions are watched until the right one is found. New ones of the group are read once each, first those whose
// names resemble the kind. Kinds without a definition are built in, and read from the server's OpenAPI. A kind that
// once had a definition is never taken for built in, although discovery may list it shortly after the definition is
// gone. We rejected discovery, which lags behind and cannot be watched.
//
// If the source is deleted, the API stays published: consumers have objects of it, and the definition may be about to
// be replaced.
//
// # Memory
//
// What is kept of a PublishedResource between reconciles is one structure without a lock, because one worker at a time
// has a PublishedResource. Only one thing is shared and locked: which PublishedResource offers which resource of an
// APIExport, as only one may. That one keeps it, also after a restart, because the status records it. Two providers do
// not share that lock.
//
// # Several providers
//
// A selector decides which PublishedResources a provider reconciles. The others stay in its cache, because they may
// offer the same resource. One that is no longer selected stays as it is. We rejected a cache that selects: an object
// that leaves it looks like a deleted one, and its API would be withdrawn.
//
// # Reports
//
// An endpoint that does not answer is reported and does not fail a pass: the others are served, and schemas are
// published. After each publication some endpoint does not serve the API yet, and after each APIBinding kcp has not yet
// established the API in its workspace: conditions say so until it has. Events do not repeat conditions.
//
// A status is written once a second at most, and not for two seconds after a publication: each write makes the updates
// of everyone who has read the PublishedResource conflict.
//
// # Deletion
//
// When a deleted PublishedResource withdraws its API, it uses what it has last published, not the source. It waits
// until consumers have no objects: nobody could reach them without the API. It does not wait for bindings, because the
// APIExport may offer other APIs. When watches show no objects, kcp is asked once more before the API is withdrawn. We
// rejected to trust the watches alone: the first list of each may come from a cache of the server that lags behind. The
// endpoints of the APIExportEndpointSlice are asked. A shard of kcp removes its URL from it with its last binding, and
// we rejected to ask former endpoints, too.
package publishedresource
