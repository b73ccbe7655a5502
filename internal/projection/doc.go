// Package projection makes of an API of a service cluster what kcp is to serve of it: another set of versions, other
// names, another scope, and a schema that kcp accepts. It is pure: the same CustomResourceDefinition and the same spec
// give the same APIResourceSchema, under the same name.
//
// # Decisions
//
// The name of a schema is that which api-syncagent gives it, so that what the agent has published is found and kept: a
// hash of the projected CustomResourceDefinition. It follows that whatever kcp accepts as it is stays as it is, to the
// last field, but for fields of Crossplane. Only served versions are published; a CustomResourceDefinition that has
// others gets another name than the agent's, who publishes them, too. Those that have been published stay, not served.
//
// Of a schema that is refused, what is refused is taken away, and nothing else. Who refuses is the code of Kubernetes
// that kcp runs on schemas: each of its complaints names a field, and the keyword there goes, or the value there may be
// anything. The service cluster still validates what arrives. What goes is told. After two rounds what is still refused
// is an Error. A list of what to sanitise, such as tools have that turn OpenAPI into CustomResourceDefinitions, was
// rejected: it is never complete, and changes what needs no change.
//
// Fields of Crossplane, by which a platform runs composite resources, are no part of what a consumer orders. A schema
// does not have them, unless the PublishedResource shows them. A type is Crossplane's if a CompositeResourceDefinition
// controls its CustomResourceDefinition; then Crossplane has overwritten most fields of these names, so that they are
// no author's. We rejected to go by names alone, as any type may have a resourceRef, and by an entry in each
// PublishedResource: who forgets it lets tenants choose Compositions. Rules in CEL that name a hidden field go with it:
// the service cluster still has them.
//
// A change fits if each object that the published schema accepts is accepted by the new one. crdify judges each field,
// and any difference that it does not know counts as one that does not fit. It looks neither below
// additionalProperties nor at fields that get a schema where any were allowed: that is done here. Its texts are not
// stable, and no condition has them. A change of the author's projection is no change of the source, which a hash of
// it on each schema tells. The generation that api-syncagent writes there does not: it starts anew with each
// definition.
//
// What no repair helps is an Error with a Reason, since no retry helps either: someone has to change the
// CustomResourceDefinition or the PublishedResource.
//
// Types that are built in have no CustomResourceDefinition. FromOpenAPI makes one from the OpenAPI v3 document of their
// group and version, with each reference inlined. There an object without fields means any fields, while in a schema of
// kcp it means none. The agent takes OpenAPI v2, which tells less; schemas of such types have other names than the
// agent's.
//
// Conversion between versions is None, whatever the source does: kcp cannot call the webhooks of a service cluster.
package projection
