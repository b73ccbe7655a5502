// Package targetresource deals with one resource on a target, as one owner has it: it connects, looks, and says what a
// failure means. Base is how a controller of such resources is set up, and begins the reconciles that are not
// crossplane-runtime's. What a controller decides by its own rules stays with it.
//
// That a resource does not keep our label, so that it is watched by its name, is told by how its owner looks at it: a
// status may have no room for labels.
package targetresource
