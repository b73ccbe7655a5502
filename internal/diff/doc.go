// Package diff says in what two states of a resource differ, for users: as a JSON patch and as field paths.
//
// It takes values and returns values. The states are what a cluster holds and what it would hold after an apply; who
// gets them, and how, is not its business.
//
// # Decisions
//
// Values of Secrets are masked; whether one changes is told by its operation. Secrets are also found inside of other
// resources, such as an Object whose manifest is a Secret; and the annotation in which kubectl keeps a copy of what it
// applied is masked wherever it occurs.
//
// Operations are sorted by path, so that an equal difference is an equal status. Lists of different lengths are one
// operation: items would have to be told from each other, which the schema of the target alone can.
package diff
