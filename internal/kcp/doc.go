// Package kcp speaks the API by which kcp's workspaces export and bind APIs. It reads what its callers have watched,
// and writes APIExports through clients that they give it.
//
// # Decisions
//
// An APIExport has many writers. A Change says what one publisher wants of it, and is made again on what others have
// written until it is in. What it does not name stays, also fields that this package does not know: it works on untyped
// content. We rejected server-side apply: an entry that a former publisher owns too would stay, and one annotation
// holds the claims of all for older clients.
//
// Changes of one APIExport take turns, because a hundred publishers that patch at a time are ten thousand conflicts.
//
// APIExports are written in v1alpha2. Clients of v1alpha1, such as api-syncagent, see claims that are made in it as if
// they claimed nothing, unless the annotation has them by which kcp keeps what only v1alpha1 says.
//
// A claim is widened, never narrowed, because consumers have accepted it with its verbs. An annotation of the APIExport
// has the claims that were added here, so that those of others are never withdrawn.
package kcp
