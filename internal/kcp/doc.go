// Package kcp speaks the API by which kcp's workspaces export and bind APIs.
//
// It reads APIExports, their endpoints and the bindings of consumers from what its callers have watched, and writes
// APIResourceSchemas and APIExports through clients that they give it. It knows no kind of ours, and deletes nothing
// that it is not told to.
//
// # Decisions
//
// An APIExport has many writers: other publishers, administrators, and kcp itself. A Change says what one publisher
// wants of it, and is made again on what others have written meanwhile until it is in: each patch names the resource
// version that it was made from. What a Change does not name stays as it is, down to fields this package does not know,
// which is why it works on the untyped content. That an APIExport is as a Change wants it means that the Change changes
// nothing, so that to compare and to merge are one implementation.
//
// Server-side apply was rejected. An entry another manager has written too, such as a publisher that ran before, would
// stay when it is withdrawn; and what older clients read of permission claims is one annotation for all of them, which
// nobody can own a part of.
//
// Changes of one APIExport take turns, each on what the one before has written: a hundred publishers that patch at a
// time are ten thousand conflicts. We rejected to send those that wait together: who fails then has to be found out.
//
// APIExports are written in v1alpha2, the version kcp stores. Its claims have no field for what v1alpha1 calls all, so
// that claims made in v1alpha2 look to clients of v1alpha1 as if they claimed nothing. kcp keeps that field in an
// annotation when v1alpha1 is written; the claims of a Change are entered there as well. To write v1alpha1 was
// rejected: it has no verbs, and shows only part of what others have written in v1alpha2.
//
// A claim is widened, never narrowed: consumers have accepted it with the verbs it had, and kcp grants the verbs that
// are literally in both. Which claims were added here is kept in an annotation of the APIExport, so that they can be
// withdrawn, and those of others not.
package kcp
