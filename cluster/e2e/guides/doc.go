// Package guides runs guides of docs/ as a user would who has nothing yet: on an empty control plane, line by line,
// with the commands and the YAML of the page. It runs by make e2e only, as it needs the built provider, Crossplane and
// cert-manager.
//
// What needs a container runtime is not run: docs/tutorials/quickstart.md begins with clusters and a provider that the
// test has made, and Crossplane and cert-manager are processes. Not here are other guides that need more than servers:
// README's first Object and the uninstall are in package xpkg, as they need a Crossplane with the package,
// docs/tutorials/composition.md and docs/capabilities.md in package olm, docs/platform.md in package platform,
// docs/how-to/install-with-helm.md and docs/migrate-from-api-syncagent.md in package chart,
// docs/migrate-from-provider-kubernetes.md in packages e2e and, with Crossplane, xpkg.
//
// # Decisions
//
//   - Each guide has a control plane of its own, so that none lives on what another has made.
//   - The provider runs from source, as README says, as an administrator.
package guides
