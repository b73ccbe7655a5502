// Package apply keeps one manifest on a cluster by server-side apply, and tells without a request whether it still is
// as applied. It knows no kind of ours, reads no cache and keeps no state.
//
// # Decisions
//
// What was applied is remembered as two hashes: of the manifest, and of the fields our field manager owns in the
// server's answer, with their values. The server's defaults and other managers' fields never enter the second. What an
// apply would change is asked by a dry run, but only of those that must not apply, and only once for each state.
//
// Errors about a manifest with content of a Secret are reduced to their reason and the fields of the manifest: servers
// quote values they find wrong, or what they have made of one, and webhooks say what they like.
//
// Owned fields are read by walking the managed fields over the object, which needs no schema: a path element carries
// the keys of its list item. Lists are indexed by the names of their items, or a target could keep a worker busy with
// long ones.
//
// Migrate moves the ownership of fields before an apply, which then removes in the same write what the manifest no
// longer gives. It leaves finalizers, owners and annotations of Crossplane, which the same program may keep on
// resources of its own.
//
// What others have written beside a manifest stays, unless the server refuses both together: the item or field that
// collides is the manifest's then, if they have not applied it.
//
// What is left to others is not sent if another manager owns it. If nobody else does, the live value is sent, because a
// server removes what nobody owns.
//
// Whether a server refuses only a change is asked by a creation on a dry run: the words of the answer differ by kind.
//
// One of ours that leaves a resource makes its applied fields updated ones under its own name, by which it knows them
// if it returns. A server that has lost all managed fields gets back those that were seen last.
package apply
