// Package composite shows what consumers in kcp get of the types that real Crossplanes make of a
// CompositeResourceDefinition. It runs by make e2e only, as Crossplane takes minutes to build.
package composite
