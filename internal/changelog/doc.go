// Package changelog sends what controllers change to the change log service of Crossplane, by gRPC over a unix socket.
// A worker waits for it for two seconds and not for the ten of crossplane-runtime, because workers serve all targets.
package changelog
