// Package wordpress runs the example of applications as a user would: the built provider, and two clusters on which
// Deployments become available, because controllers and nodes work there, the nodes by KWOK. The package runs by make
// e2e only, as KWOK takes a minute to build.
package wordpress
