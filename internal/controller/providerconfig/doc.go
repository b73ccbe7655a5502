// Package providerconfig counts who uses the ProviderConfigs of both scopes, keeps those in use from going away, and
// shows whether their targets can be used. It writes the finalizer and the status of a ProviderConfig, and deletes
// records of use that have lost their owner. It wakes the users of a ProviderConfig that appears, changes or goes.
//
// The reconciler is crossplane-runtime's, behind a client that drops writes which change nothing. Records of use come
// in bursts, so they are gathered before the users are counted: a thousand new Objects cost a handful of status writes.
//
// Condition Ready, the URL and the version of a target come from the requests that are made anyway, because a target at
// rest gets none. So the version is that of the last connection. A missing Secret counts only if no user of the
// ProviderConfig is connected: credentials may depend on the namespace of the user.
//
// Each ProviderConfig is the first user of its target, so that condition Ready does not wait for others: Compositions
// wait for it before they make them. It sends one request with its credentials unless others do, because probes have
// none. What is wrong is asked for again once a minute, as a server may come to accept credentials.
//
// A deleted ProviderConfig stays while resources refer to it, recorded or not: the records of use in a namespace that
// is going away may go first. A finalizer on each record was rejected: it would cost a write for each resource that
// goes, and strand records of resources that are forced away.
package providerconfig
