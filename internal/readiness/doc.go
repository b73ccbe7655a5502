// Package readiness tells from a resource whether it is ready.
//
// It is pure: a verdict follows from the policy, the query and the resource alone, but for a Pod that cannot be
// scheduled, which has failed 15 seconds after it was made. The one thing it keeps is the programs of queries it has
// compiled, which follow from the queries.
//
// # Decisions
//
// A query that cannot be answered makes a resource not ready, and the message says why: a bad query is no reason to
// stop keeping the resource.
//
// Health is what kstatus finds, the library of Flux, because rules for each kind need not be written twice. It is
// corrected where it takes for healthy what does not work yet: Jobs that run, Pods that have failed, load balancers
// without an address, and resources that nobody has looked at. Its errors are not passed on, as they quote values, and
// it is not trusted not to panic. Rules of users, as Argo CD and Flux have them, were rejected: a query is one.
//
// Queries are expressions of package expression, which bounds their cost and keeps values out of messages.
package readiness
