// Package commandline has the commands that look at Objects and targets as their caller: diff says what manifests would
// change, import makes Objects of resources that run, and trace shows why something is not Ready.
//
// It acts by the kubeconfigs of its caller, so with the rights of its caller. It writes nothing but dry runs, runs no
// controller, and prints nothing of a Secret.
//
// # One set of rules
//
// An answer comes from the code that works in the provider: package object compares as a preview does, package clusters
// connects and decides who may use which ProviderConfig, package reference follows references, and our
// CustomResourceDefinitions judge all fields. We rejected a comparison on the caller's machine, as only the target knows
// its defaults, its webhooks and who owns which field.
//
// # Unknown is not equal
//
// What cannot be read, reached or followed is told, and the exit code says so whatever else was found. We rejected to
// leave it out: a pipeline would take that for no difference.
package commandline
