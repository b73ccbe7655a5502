// Command bench measures what the provider costs, on real servers:
//
//	bench -provider _output/bin/provider [-n 1000] objects
//
// It starts a control plane and a target, both with audit logs, and runs three things one after the other, in one run, so that they
// meet the same machine:
//
//   - the floor: a plain client-go loop, 20 workers, that creates each Object and its ConfigMap and patches the Object's status once.
//     It is what the servers and the machine cost, without a provider. It runs a second time at the end, when the provider is
//     gone; the ratio is to the mean of both, and is worth as much as they are alike. The ratio of processor times is beside it: it hardly
//     depends on what else the machine does.
//   - the creation of as many Objects with the provider running: requests, time, CPU and memory.
//   - single changes with all these Objects standing: new ones, drift, rest, and a restart.
//
// Requests are counted from the audit logs, by the provider's user. Times are from before the request to the moment a watch shows the
// result, and therefore also contain the request and the watch. They depend on the machine; the ratio to the floor does much less.
//
// A target that is missed is marked as such and no failure: the exit code is 0 unless something did not work at all.
package main
