// Package projection makes of an API of a service cluster what kcp is to serve of it: another set of versions, other
// names, another scope, and a schema that kcp accepts. It is pure: the same CustomResourceDefinition and the same spec
// give the same APIResourceSchema, under the same name.
//
// # Decisions
//
// The name of a schema is the one that api-syncagent gives it, a hash of the projected CustomResourceDefinition, so
// that what the agent has published is kept. Therefore all that kcp accepts stays as it is, except fields of
// Crossplane.
//
// The code of Kubernetes that kcp runs tells what is refused of a schema. Each complaint names a field: the keyword
// there is removed, or the value there may be anything. The service cluster still validates what arrives. We rejected a
// list of what to sanitize, which is never complete and changes what needs no change.
//
// Schemas do not have the fields by which a platform runs composite resources of Crossplane, unless the
// PublishedResource shows them. A type is Crossplane's if a CompositeResourceDefinition controls its definition: any
// type may have a field of such a name.
//
// A change fits if the new schema accepts each object that the published one accepts. crdify judges each field, and a
// difference that it does not know does not fit. What it does not look at, such as additionalProperties, is compared
// here. A hash of the source on each schema tells a change of the source from one of the projection.
//
// OpenAPI and definitions differ: an object without fields means any fields there, and none here. Versions are not
// converted, because kcp cannot call the webhooks of a service cluster.
package projection
