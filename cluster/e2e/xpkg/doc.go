// Package xpkg holds black-box tests of the package: a real Crossplane installs it from a registry, with the rights
// that Crossplane grants and those that the examples of rights grant, and nothing more. It runs by make e2e only, as
// Crossplane takes minutes to build.
//
// Crossplane, its package manager and its manager of rights are real, and so are the controllers of Kubernetes that
// make a pod of what they ask for. Package kubelet runs the program of the pod, from the image that the pod names.
//
// # Decisions
//
//   - The tests run one after the other on one installation: a kind that is active cannot be made inactive again.
//   - They need root: only root may give a program other files and another user. A container runtime was rejected as it
//     cannot be had from the module proxy.
//   - Packages are built and pushed by make xpkg.push. TestRelease shows that make release builds the same ones.
package xpkg
