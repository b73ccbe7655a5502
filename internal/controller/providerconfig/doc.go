// Package providerconfig counts who uses the ProviderConfigs of both scopes, keeps those in use from going away, and
// shows whether their targets can be used.
//
// It watches ProviderConfigs, the Secrets they name and the records of their use. The connections to targets report
// whether these answer and accept the credentials. The package writes the finalizer and the status of a ProviderConfig,
// and deletes records that have lost their owner; it deletes nothing else. It wakes the users of a ProviderConfig that
// appears, changes or goes.
//
// # Decisions
//
// The reconciler is crossplane-runtime's, behind a client that drops writes which change nothing. Records of use come
// in bursts, one for each new resource, so they are gathered for a moment before the users are counted: a thousand new
// Objects cost a handful of status writes rather than a thousand.
//
// Condition Ready, the URL and the version of a target come from the requests that are made anyway: a probe of /version
// begins each connection. Asking each target at intervals was rejected, because a target at rest gets no requests. So
// the version is that of the last connection, and refused credentials are noticed when they are used. A good state is
// written together with the user count if it can be.
//
// An unreachable target is reported on its ProviderConfigs at once, by the condition and one event for each. Its users,
// which may be thousands, are written only if the outage lasts. Refused credentials are told at once, as the users that
// meet them tell it. A missing Secret counts only if no user of the ProviderConfig is connected: credentials may depend
// on the namespace of the user, and one tenant does not speak for all.
//
// Each ProviderConfig is the first user of its target, so that condition Ready does not wait for others: Compositions
// wait for it before they make them. It sends one request with its credentials unless others do, because probes have
// none. It keeps the connection, so that what is wrong later is told by the same events as to other users. To have no
// condition until the first use was rejected, because kubectl wait and function-auto-ready then wait for ever. So was
// to ask again at intervals, which only what is wrong does: once a minute, as a server may come to accept credentials.
//
// Namespaces take turns, by package fairqueue: to connect to a server that hangs takes a worker seconds.
//
// A deleted ProviderConfig stays while resources refer to it, recorded or not: the records of use in a namespace that
// is going away may go first. A finalizer on each record was rejected: it would cost a write for each resource that
// goes, and strand records of resources that are forced away.
package providerconfig
