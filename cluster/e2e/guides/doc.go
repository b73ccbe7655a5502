// Package guides runs pages of docs/ as a user would who has nothing yet: on an empty control plane, line by line,
// with the commands and the YAML of the page. It runs by make e2e only, as it needs the built provider, Crossplane and
// cert-manager.
//
// What needs a container runtime is not run: the quickstart begins with clusters and a provider that the test has made,
// and Crossplane and cert-manager are processes. Pages that need more than servers are run elsewhere: those of
// installation, of Helm and of migrations in packages xpkg, chart and e2e, the Composition and examples/README.md in
// package olm, and the tutorial of the platform in package platform.
//
// The downgrade needs a build of an older commit. A clone without history does not have it, so that its test has a
// build tag and runs by make downgrade only.
//
// # Decisions
//
//   - Each page has a control plane of its own, so that none lives on what another has made.
//   - The provider runs from source, as README says, as an administrator.
package guides
