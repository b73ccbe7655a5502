// Package platform holds black-box tests of the whole path, by the guide docs/tutorials/platform.md: a consumer in a
// workspace of kcp orders a Networking, Crossplane composes Objects of its copy, and the built provider keeps them on a
// target. It runs by make e2e only, as Crossplane and KWOK take minutes to build.
//
// kcp, Crossplane and all control planes are real. KWOK plays the node of the target. The functions of the Composition
// are those of package crossplane.
//
// # Decisions
//
//   - The commands and the YAML are those of the guide, and consumers and operators look by the commands that it names.
//   - One Crossplane, kcp and provider serve all tests, in the order of TestPlatform: they take half a minute to start.
//   - The provider has the rights that Crossplane grants, and those of the guide, and nothing more.
package platform
