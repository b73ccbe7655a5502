// Package mutation changes objects on their way between a workspace and the service cluster. It is pure.
//
// Paths are those of gjson and sjson, as api-syncagent has them, so that an object is changed as JSON text, without
// loss: whole numbers stay whole, < and & stay what they are.
//
// A step whose value is missing does nothing, unless it is there to set one: a template or a CEL expression. What a
// regular expression cannot change is refused, as a rule that keeps something from passing must not be passed by.
//
// Errors say which step has failed, and quote no value.
package mutation
