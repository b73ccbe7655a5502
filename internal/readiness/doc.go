// Package readiness tells from a resource whether it is ready. It is pure, but for a Pod that cannot be scheduled,
// which has failed 15 seconds after it was made, and for compiled queries, which it keeps.
//
// A query that cannot be answered makes a resource not ready, and the message says why: a bad query is no reason to
// stop keeping the resource.
//
// Health is what kstatus finds, the library of Flux, corrected where it takes for healthy what does not work yet. Its
// errors are not passed on, as they quote values, and it is not trusted not to panic.
package readiness
