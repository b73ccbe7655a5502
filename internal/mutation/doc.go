// Package mutation changes objects on their way between a workspace and the service cluster.
//
// It is pure: what becomes of an object follows from the steps, the object and the one on the other side. Steps are
// compiled once, by New, and then used by any number of goroutines.
//
// # Decisions
//
// Paths are those of gjson and sjson, as api-syncagent has them, so that an object is changed as JSON text. That text
// is made and read without loss: whole numbers stay whole, and a text stays what it is, < and & included. An object
// without steps is never encoded.
//
// A step whose value is missing does nothing, unless it is there to set one: a template or a CEL expression. A regular
// expression changes texts, and the digits of a number; of a path that selects several values it changes each. What it
// cannot change is refused, as a rule that is there to keep something from passing must not be passed by.
//
// All steps see the whole object. Of the result of the steps for the status only the status is kept. Other steps
// change all but the identity of the object: its name is decided elsewhere.
//
// Templates and expressions have limits of cost. Errors say which step has failed, and quote no value.
package mutation
