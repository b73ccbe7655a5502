// Package diff says in what two states of a resource differ, for users: as a JSON patch and as field paths.
//
// It takes values and returns values. The states are what a cluster holds and what it would hold after an apply; who
// gets them, and how, is not its business.
//
// # Decisions
//
// Values of Secrets are masked before the states are compared, in both of them, so that the code which compares never
// holds a value that it could give away. A masked value reports whether it changes, in the words of kubectl diff.
// Secrets are also found inside of other resources, such as an Object whose manifest is a Secret; and the annotation in
// which kubectl keeps a copy of what it applied is masked wherever it occurs. Masking the finished patch was rejected:
// an operation on a parent carries values that its path does not tell of.
//
// What differs with each write, what the server alone decides and the label of the provider are left out, as is the
// status of a resource whose manifest has none: an apply changes none of it.
//
// Operations come in an order that depends on the two states only, so that an equal difference is an equal status. They
// can be applied in that order.
//
// A field that is null counts as one that is not there, which is how API servers see it.
package diff
