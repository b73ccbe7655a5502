// Package readiness tells from a resource whether it is ready.
//
// It is pure: a verdict follows from the policy, the query and the resource alone. The one thing it keeps is the programs of queries it
// has compiled, which follow from the queries.
//
// # Decisions
//
// A query that cannot be answered makes a resource not ready, and the message says why: a bad query is no reason to stop keeping the
// resource.
//
// A query reads the resource where it lies. Values are wrapped as the query reaches them; nothing is copied, encoded or decoded. It may
// use the extensions of cel-go for strings, lists, sets, mathematics, encodings and regular expressions, and optional values. The library
// of k8s.io/apiserver was rejected: it needs most of the API server's code for a few functions more.
//
// What the resource holds may be secret, and cel-go quotes it in errors: the text that is no number, the key that is not there. So a
// message is made of phrases of our own, and quotes nothing but what the query says itself.
package readiness
