// Package preflight says what a takeover from provider-kubernetes or api-syncagent would do, before it is done. It only
// reads the control plane, connects to no target, and prints nothing of a Secret.
//
// # Decisions
//
// Findings come from the code that works after the takeover, such as the rules of controllers and our
// CustomResourceDefinitions. We rejected a dry run on the server, which needs the rights to write.
//
// What the server does not let us read is a finding with the missing right: a pipeline would take a shorter report for
// a good one.
//
// A reader fetches, and functions without a client judge what it has fetched.
package preflight
