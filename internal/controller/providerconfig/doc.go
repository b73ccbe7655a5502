// Package providerconfig counts who uses the ProviderConfigs of both scopes, keeps those in use from going away, and
// shows whether their targets answer.
//
// It watches ProviderConfigs and the records of their use, and is told by the connections to targets whether they
// answer. It writes the finalizer, the user count and condition Reachable of a ProviderConfig, and deletes records that
// have lost their owner; it deletes nothing else.
//
// # Decisions
//
// The reconciler is crossplane-runtime's, behind a client that drops writes which change nothing. Records of use come
// in bursts, one for each new resource, so they are gathered for a moment before the users are counted: a thousand new
// Objects cost a handful of status writes rather than a thousand.
//
// An unreachable target is reported on its ProviderConfigs at once, by a condition and one event for each. Its users,
// which may be thousands, are written only if the outage lasts. A ProviderConfig whose target has always answered has
// no condition Reachable, which saves one write for each.
//
// A deleted ProviderConfig stays while resources refer to it, recorded or not: the records of use in a namespace that
// is going away may go first. A finalizer on each record was rejected: it would cost a write for each resource that
// goes, and strand records of resources that are forced away.
package providerconfig
