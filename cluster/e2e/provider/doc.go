// Package provider runs the built provider as a child process, for the black-box tests and the benchmark.
//
// A Process is the binary as a user would run it: flags, environment, a kubeconfig file. What it prints goes to a file.
// Its health and metrics are on loopback ports of their own. It is in a process group of its own, and on Linux it is
// killed when its parent ends.
//
// CPU time and memory are the kernel's numbers, from /proc, so that nothing in the provider has to cooperate. They need
// Linux.
package provider
