// Package publishedresource reconciles PublishedResources: it keeps the API that each names on a service cluster
// published in an APIExport of kcp.
//
// It watches PublishedResources, their ProviderConfigs and Secrets, the CustomResourceDefinition on the service
// cluster, and in kcp the APIExport, its endpoints, the names of schemas and the bindings of consumers. It creates
// schemas, and creates or changes the APIExport. It never changes a schema, never removes from an APIExport what it has
// not added, and deletes only what deletionPolicy says.
//
// crossplane-runtime calls Observe, Create, Update and Delete. Each runs phases on a pass, which holds what one
// reconcile has found: publisher compares and publishes, consumers reads who uses the API and has their objects synced,
// and withdrawal withdraws the API. The conditions are computed from the pass and written once at its end.
//
// # Decisions
//
// Publishing takes two requests, for a schema and for the APIExport that refers to it. A provider that is killed
// between them finds the schema when it starts again. A version that is no longer published stays in the schema,
// because kcp may store objects in it, whatever the APIBindings say that we see.
//
// A change that schemaUpdates holds back is compared with the schema that the status names. Until it is published, the
// schema and the versions of what is published count for all else.
//
// A published API in steady state makes no API calls: all that is compared comes from watches. Of schemas only the
// names are watched, because schemas cannot change and are large.
//
// A kind without a CustomResourceDefinition is built in, and read from the server's OpenAPI. One that once had a
// definition is never taken for built in: discovery may list it shortly after the definition is gone. If the source is
// deleted, the API stays published, because consumers have objects of it.
//
// Only one PublishedResource may offer a resource in an APIExport. The first one keeps it, also after a restart,
// because its status records it. One that a selector leaves to another provider stays in the cache, because it may
// offer the same resource, and because an object that leaves a cache looks like a deleted one.
//
// An endpoint that does not answer is reported and does not fail a pass: the others are served. A status is written
// once a second at most, and not for two seconds after a publication: each write makes the updates of those conflict
// who have read the PublishedResource.
//
// A withdrawal goes by what was last published, not by the source. It waits until consumers have no objects, which
// nobody could reach without the API, but not for bindings, because the APIExport may offer other APIs. When watches
// show no objects, the endpoints are asked once more, because the first list of a watch may lag behind.
package publishedresource
