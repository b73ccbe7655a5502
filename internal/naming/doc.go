// Package naming decides how the copy of a consumer's object is named on the service cluster.
//
// It is pure: a name follows from the rules and the object alone.
//
// # Decisions
//
// A rule with {{ is a Go template, any other a text with placeholders, as api-syncagent has it. The default rules are
// the agent's, but for two cases that it does not get right: an object without a namespace has no part for it, and a
// copy without a namespace begins with the name of the logical cluster, which else only its namespace would tell.
//
// What the rules yield is checked against what Kubernetes accepts as a name: an error that says which rule has yielded
// what is of more use than the answer of a server, and is not tried again.
package naming
