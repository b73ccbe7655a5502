// Command bench measures what the provider costs, on real servers:
//
//	bench -provider _output/bin/provider [-n 1000] [-watch] [-poll 30s] [-configs 40] [-targets 1]
//	      [-stages 1000x1x1] PART...
//
// A part is objects, sync, shards or memory.
//
// Each part starts its servers with audit logs and runs everything one after the other, in one run, so that it meets
// the same machine. Requests are counted from the audit logs, by the provider's user, without those that a virtual
// workspace of kcp makes itself in its name. Times are from before the request to the moment a watch shows the result,
// and therefore also contain the request and the watch. They depend on the machine; the ratio to the floor does much
// less.
//
// The floor of objects and sync is a plain client-go loop, 20 workers, that does what a provider cannot do without. It
// is what the servers and the machine cost. It runs a second time at the end, when the provider is gone; the ratio is
// to the mean of both, and is worth as much as they are alike. The ratio of processor times is beside it: it hardly
// depends on what else the machine does.
//
// # Objects
//
// A control plane, and a target. The floor creates each Object and its ConfigMap and patches the Object's status once.
// Measured are:
//
//   - the creation of as many Objects with the provider running: requests, time, CPU and memory.
//   - single changes with all these Objects standing: new ones, drift, rest, and a restart. With -poll a poll of all
//     Objects in place of drift and rest.
//
// # Sync
//
// A kcp with 20 workspaces that have bound an API, and a service cluster, which is the control plane. The floor creates
// each object in its workspace, puts a finalizer on it through the endpoint of the APIExport and creates its copy; then
// it gives each copy a status, as an operator does, and the object the same. What it does not do is to remember what it
// has copied, and to record events. Measured are:
//
//   - the creation of as many objects with the provider running, until all copies are there, then their statuses until
//     they are in the workspaces, a change of each, and, in the end, their deletion: requests, time, CPU and memory.
//   - with all of them standing: single objects and statuses, rest, and a restart.
//   - a start with twice as many waiting in one workspace: how long an object of another waits for its copy.
//
// # Shards
//
// A control plane, and targets with a user for each ProviderConfig, so that each has a connection and watches of its
// own. The Objects are spread over the ProviderConfigs. One process is measured, and then three that share the work,
// each beside what it is of the one process:
//
//   - a restart of all after one Object of each ProviderConfig has changed: time until all is applied, CPU, memory and
//     watches. At the end of a rest: memory, and the CPU that it took.
//   - a replica that is killed and replaced: how long a change in its slot waits, and one in another slot.
//
// A replica that starts in place of one that was stopped does not wait for a Lease. Each user may read all of its
// target, so that each connection shows the ConfigMaps of all Objects there. All replicas and all servers are on one
// machine, so that times of three replicas are not those of three machines.
//
// # Memory
//
// A control plane, and targets with several users each, so that each user has a connection and watches of its own. Each
// stage adds Objects of a size, spread over all users, or more users: 1000x1x1,100x100x1,0x0x3 are 1,000 Objects of 1
// KB, then 100 more of 100 KB, and then three users in place of one for each target. Measured are a process that
// creates the Objects of a stage, and one that is started with all of them standing: peak, memory at the end of a rest,
// how much of it lives, and CPU.
//
// A target that is missed is marked as such and no failure: the exit code is 0 unless something did not work at all.
package main
