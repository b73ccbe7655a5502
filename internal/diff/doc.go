// Package diff says in what two states of a resource differ, for users: as a JSON patch and as field paths. It is pure.
//
// Values of Secrets are masked, also inside of other resources, such as an Object whose manifest is a Secret; and so is
// the copy that kubectl keeps of what it applied.
//
// Operations are sorted by path, so that an equal difference is an equal status. Lists of different lengths are one
// operation: items would have to be told from each other, which the schema of the target alone can.
package diff
