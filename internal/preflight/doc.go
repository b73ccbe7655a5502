// Package preflight says what a takeover from provider-kubernetes or api-syncagent would do, before it is done.
//
// It reads the control plane: what is to be taken over, and what still runs. It writes nothing there, makes no
// connection to a target or a kcp, and prints nothing of a Secret. Of state Secrets it reads the metadata only.
//
// # One set of rules
//
// A finding comes from the code that works after the takeover: package clusters judges ProviderConfigs, package
// reference references, the controllers specs and fields applied client-side, and our CustomResourceDefinitions all
// fields. We rejected a dry run on the server, which needs the rights to write, and can only use definitions that are
// installed.
// We rejected a list of rules of its own: a second copy would promise what the provider does not do.
//
// # Unknown is not absent
//
// What the server does not let us read is a finding of its own, with the right that is missing. We rejected a shorter
// report: a pipeline would take it for a good one.
//
// # Pure checks
//
// A reader fetches, and functions without a client judge what it has fetched. We rejected checks that fetch what they
// need, because only a server with the right faults could test them.
package preflight
