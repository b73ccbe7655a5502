// Package chart tests the Helm chart as make chart builds it: what it renders, what it refuses, and its life on a real
// control plane, by the commands of docs/how-to/install-with-helm.md and
// docs/how-to/migrate-from-api-syncagent.md.
//
// Helm, the control plane with its controllers, and kcp are real. KWOK plays the nodes, and package kubelet runs the
// program of each pod under the ServiceAccount of the chart, so that its rights are those that the chart grants. What
// differs from the guide: the registry of the test has no certificate, and the Lease is short.
//
// It runs by make e2e only, and as root: see package kubelet.
package chart
