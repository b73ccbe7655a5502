// Package changelog sends what controllers change to the change log service of Crossplane, by gRPC over a unix socket.
//
// # Decisions
//
// The change log service is a sidecar. While it does not listen, a worker waits for each change: for two seconds and
// not for the ten of crossplane-runtime, as the workers of one kind serve all targets. The change is then missing from
// the change logs, which crossplane-runtime's reconciler says in the provider's log.
package changelog
