// Package xpkg holds black-box tests of the package: a real Crossplane installs it from a registry, with the rights
// that Crossplane grants and those that the examples of rights grant, and nothing more. It runs by make e2e only, as
// Crossplane takes minutes to build.
//
// Crossplane, its package manager and its manager of rights are real, and so are the controllers of Kubernetes that
// make a pod of what they ask for. KWOK says that the pod is ready. What its container would do is done by the program
// unpacked from the image that the pod names: see kubelet_test.go. It sees the files of the image, the volumes of the
// pod and nothing else, runs as the user of the pod, and has its environment and the token of its ServiceAccount. What
// differs: it shares the network of the machine, so that its ports are chosen for it.
//
// # Decisions
//
//   - The tests run one after the other on one installation: a kind that is active cannot be made inactive again.
//   - They need root: only root may give a program other files and another user. A container runtime was rejected as it
//     cannot be had from the module proxy.
//   - Packages are built and pushed by make xpkg.push, as releases are.
package xpkg
