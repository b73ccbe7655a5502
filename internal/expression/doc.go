// Package expression evaluates CEL expressions that users write over resources. It is pure.
//
// # Decisions
//
// An expression reads resources where they lie; nothing is copied. The environment of k8s.io/apiserver is not used: it
// refuses what provider-kubernetes accepts, such as lists of several types. Nor is its estimator, which needs types: 24
// doublings of a text would take 30 GB at a cost of some hundreds.
//
// A tenant decides how large values are, and cel-go charges a call after it was made, and next to nothing if the types
// of its arguments are not known. So one function bounds what a call reads, makes or compares: by the size of the
// arguments, unless it makes much of little or compares all with all. A call above 1 MiB is not made; every other is
// charged by that bound.
//
// Maps of a resource are gone through in the order of their keys, or a list made of one would be written for ever.
//
// All matches of a regular expression are looked for in texts of 16 KiB at most, as that can take time as the square of
// the text. Patterns are compiled at each call: constants of apiserver's library would go round the bounds otherwise.
//
// What a resource holds may be secret, and cel-go quotes it in errors. So a message is made of phrases of our own, and
// quotes nothing but what the expression says itself.
package expression
