// Package apply keeps one manifest on a cluster by server-side apply, and tells without a request whether it still is
// as applied.
//
// It knows no kind of ours, reads no cache and keeps no state: it works on the resource client and the objects it is
// given.
//
// # Decisions
//
// What was applied is remembered as two hashes: of the manifest, and of the fields our field manager owns in the
// server's answer, with their values. The first changes when the user wants something else; the second when somebody
// takes over, changes or removes a field of ours, while the server's defaults and other managers' fields never enter
// it. provider-kubernetes compares by a dry-run apply, which costs a write request for each look and goes wrong when
// its cache of the result is stale.
//
// What an apply would change is asked by a dry-run apply, which knows the defaults, webhooks and checks of the target,
// but only of those that must not apply, and only once for each state. A comparison of our own was rejected: it knows
// neither defaults nor which lists have keys.
//
// Errors about a manifest with content of a Secret, be it one or not, are reduced to their reason and the fields of the
// manifest: servers quote values they find wrong, and webhooks say what they like. To search for values of Secrets only
// was rejected, as a server may repeat what it has made of one.
//
// Owned fields are read by walking the managed fields over the object. A typed walk would need the target's OpenAPI
// schema; the untyped one does not, because a path element carries the keys of its list item.
//
// Lists are indexed by the names of their items when they are first looked into, so that each look takes time in
// proportion to the resource. A search of each list for each item was rejected: a target could keep a worker busy for a
// minute with 8,000 items.
//
// Migrate moves the ownership of fields before an apply and not after it: the apply then removes, in the same write,
// what the manifest no longer gives. It leaves finalizers, owners and annotations of Crossplane, which the same program
// may keep on resources of its own.
//
// What others have written beside a manifest stays, unless the server refuses both together: the item or field that
// collides is the manifest's then, if they have not applied it. To take all that kubectl has written into a list was
// rejected: containers would go with it. An item that somebody has renamed cannot be told from one that was added.
//
// What is left to others is not sent if another manager owns it, by an update too, as the server keeps that. To send
// the live value always was rejected: the next one that applies without force would conflict with us. To leave it out
// always was rejected, too: a server removes what nobody owns.
//
// Whether a server refuses only a change is asked by a creation on a dry run, in which what is there has no say. To
// know that by the words of its answer was rejected, as each kind has its own.
//
// One of ours that leaves a resource makes its applied fields updated ones under its own name, which is taken over like
// that. A manager with a name for all was rejected: one that returns under its name would not know its fields. To take
// over from managers whose Objects do not exist was rejected, too: they may be of another control plane.
//
// A server that has lost all managed fields gets back those that were seen last. A record of paths of our own was
// rejected: it would be in each status, and would not tell what others own too.
package apply
