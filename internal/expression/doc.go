// Package expression evaluates CEL expressions that users write over resources.
//
// It is pure: what an expression gives follows from the expression and its variables alone.
//
// # Decisions
//
// An expression reads resources where they lie. Values are wrapped as the expression reaches them; nothing is copied, encoded or decoded.
// It may use the extensions of cel-go for strings, lists, sets, mathematics, encodings and regular expressions, and optional values. The
// library of k8s.io/apiserver was rejected: it needs most of the API server's code for a few functions more.
//
// Each evaluation has a limit of cost, and expressions have limits of length and nesting.
//
// What a resource holds may be secret, and cel-go quotes it in errors: the text that is no number, the key that is not there. So a
// message is made of phrases of our own, and quotes nothing but what the expression says itself.
//
// Values are given back as JSON has them: whole numbers stay whole, and what JSON cannot hold is an error.
package expression
