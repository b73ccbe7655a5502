// Package publishedresource reconciles PublishedResources: it keeps the API that each names on a service cluster
// published in an APIExport of kcp.
//
// It watches PublishedResources, their ProviderConfigs and the Secrets those name on the control plane; the
// CustomResourceDefinition on the service cluster; in the workspace of the APIExport that APIExport, its endpoints and
// the names of all schemas; and through the endpoints the bindings of consumers. It creates schemas, and creates or
// changes the APIExport. It never changes a schema, never takes from an APIExport what it has not added, and deletes
// only what deletionPolicy and retainSchemas ask for.
//
// # Decisions
//
// The order of steps is crossplane-runtime's. To publish is two requests: a schema is created under a name made of its
// content, and then the APIExport refers to it. Whoever is killed between them begins again and finds the schema there.
// What was published is read from the APIExport and not from the status, which may be behind.
//
// A published API at rest costs no request. All that is compared comes from watches, which the PublishedResources of a
// workspace share. Of schemas only names are watched, as they cannot change: one stream of names instead of a stream
// for each schema or the memory for all of them.
//
// The CustomResourceDefinition of a kind is found by its name, <plural>.<group>, of which the spec says only the group.
// The names of all definitions are watched until the right one is there, and the content of each new one of the group
// is read once. Discovery was rejected: it lags behind, and cannot be watched. Kinds without a definition are built in,
// and read from the OpenAPI of the server. A kind that once had a definition does not count as built in, as discovery
// may name it for a moment after it has gone.
//
// If the source goes, everything stays as it is: consumers have objects of it, and somebody may be replacing a
// definition by deleting it.
//
// Two PublishedResources may not offer the same resource in one APIExport: whoever has published it keeps it, and after
// a restart, too, as the status tells.
//
// An endpoint that does not answer does not fail a pass: the others serve, and schemas can be published all the same.
// It is reported.
//
// An endpoint that does not serve the API yet, and a workspace in which kcp has not established it yet, are reported
// after 30 seconds. Each publication has both for a moment, and a Warning that passes by itself teaches users to ignore
// Warnings.
//
// A status in which nothing but counts has changed is written every five seconds at most: each write has everyone who
// has read the PublishedResource before, and updates it, start anew. What else changes does not wait.
//
// A PublishedResource that is gone in spite of its finalizer is finished with as if it were there. See package
// deletedearly.
//
// A deleted PublishedResource that is to withdraw its API goes by what it has last published, not by what the source
// says. It waits until consumers have no object left: to withdraw an API that has objects would strand them where
// nobody can reach them. That workspaces still bind the APIExport is no reason to wait, as it may offer other APIs.
package publishedresource
