// Package providerconfig counts who uses the ProviderConfigs of both scopes, and keeps those in use from going away.
//
// It watches ProviderConfigs and the records of their use. It writes the finalizer and the user count of a
// ProviderConfig, and deletes records that have lost their owner; it deletes nothing else.
//
// # Decisions
//
// The reconciler is crossplane-runtime's, behind a client that drops writes which change nothing. Records of use come
// in bursts, one for each new resource, so they are gathered for a moment before the users are counted: a thousand new
// Objects cost a handful of status writes rather than a thousand.
//
// A deleted ProviderConfig stays while resources refer to it, recorded or not: the records of use in a namespace that
// is going away may go first. A finalizer on each record was rejected: it would cost a write for each resource that
// goes, and strand records of resources that are forced away.
package providerconfig
