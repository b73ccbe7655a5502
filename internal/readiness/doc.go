// Package readiness tells from a resource whether it is ready.
//
// It is pure: a verdict follows from the policy, the query and the resource alone. The one thing it keeps is the
// programs of queries it has compiled, which follow from the queries.
//
// # Decisions
//
// A query that cannot be answered makes a resource not ready, and the message says why: a bad query is no reason to
// stop keeping the resource.
//
// Queries are expressions of package expression, which bounds their cost and keeps values out of messages.
package readiness
