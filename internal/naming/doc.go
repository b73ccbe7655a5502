// Package naming decides how the copy of a consumer's object is named on the service cluster. It is pure.
//
// The default rules are api-syncagent's, but for two cases that it does not get right: an object without a namespace
// has no part for it, and a copy without a namespace begins with the name of the logical cluster.
package naming
