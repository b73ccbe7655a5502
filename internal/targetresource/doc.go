// Package targetresource deals with one resource on a target, as one owner has it: it connects, looks, and says what a
// failure means. Base is how a controller of such resources is set up, and begins the reconciles that are not
// crossplane-runtime's.
//
// It is what the controllers that keep resources on targets have in common. It writes the deletions it is asked for and
// nothing else, and keeps no state but that of Drift.
//
// # Decisions
//
// What a controller decides by its own rules stays with it: whose a resource is, which fields are wanted, when it is up
// to date. A keeper that does it all, with hooks for what differs, was rejected: the hooks would be most of it.
//
// That a resource does not keep our label, so that it is watched by its name, is told by how its owner looks at it. A
// record in the status was rejected, as a status may have no room for labels.
package targetresource
