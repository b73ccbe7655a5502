// Package expression evaluates CEL expressions that users write over resources.
//
// It is pure: what an expression gives follows from the expression and its variables alone.
//
// # Decisions
//
// An expression reads resources where they lie. Values are wrapped as the expression reaches them; nothing is copied,
// encoded or decoded. It may use the extensions of cel-go for strings, lists, sets, mathematics, encodings, regular
// expressions and comprehensions of two variables, optional values, and the function libraries of k8s.io/apiserver but
// for Authz, which asks an API server. The environment of apiserver was rejected: it refuses what provider-kubernetes
// accepts, such as lists of several types, and lacks functions for mathematics, base64 and regex.replace. Its estimator
// was rejected, too: it knows the types of what rules of a definition see, and we know none of a resource, so that 24
// doublings of a text would take 30 GB at a cost of some hundreds.
//
// Each evaluation has a limit of cost, and expressions have limits of length and nesting. A tenant decides how large
// the values are, and cel-go charges a call after it was made, and next to nothing if the types of its arguments are
// not known before. So one function bounds what a call reads, makes or compares. A call above 1 MiB is not made; every
// other is charged by that bound. The bound is the size of the arguments, with all that is in them, as often as it is
// in them: a function of a later library is bounded, too. Only functions that make much of little or compare all with
// all have a bound of their own. A limit for the texts that expressions see was rejected: two texts of moderate length
// are enough for one replace to take all memory, and a resource may hold a long text that an expression passes on.
//
// Maps are gone through in the order of their keys. cel-go takes them in that of Go, which is another one each time: a
// list made of a map would be written for ever. The keys of each map are sorted once in an evaluation, as an expression
// may begin to go through a large one at each of its steps.
//
// All matches of a regular expression are looked for in texts of 16 KiB at most, as that can take time as the square of
// the text. Patterns are compiled at each call: constants of apiserver's library would go round the bounds otherwise.
//
// What a resource holds may be secret, and cel-go quotes it in errors: the text that is no number, the key that is not
// there. So a message is made of phrases of our own, and quotes nothing but what the expression says itself.
//
// Values are given back as JSON has them: whole numbers stay whole, and what JSON cannot hold is an error. An
// expression refers to values as often as it likes, and each time counts.
package expression
