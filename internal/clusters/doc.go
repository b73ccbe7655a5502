// Package clusters connects to clusters and kcp workspaces, and keeps each connection for all who use it.
//
// A Registry hands out one Cluster per set of credentials, from its first user to its last. A Cluster owns the REST
// configuration and its one transport, the kinds it serves, the watches, and a circuit breaker.
//
// # Dead clusters
//
// A cluster that does not answer holds no worker. A goroutine probes it before its first use, and whenever a request
// fails or stays unanswered for 2 seconds. A probe that fails opens the breaker until one is answered. We rejected
// deadlines alone: an admission webhook may rightly take 30 seconds. Connections of a tenant to one address take turns
// to probe it. They do not share the result, because certificates and proxies differ.
//
// The ProviderConfigs of a target hear of its outage at once. Its users are woken if the outage lasts 10 s, 50 in a
// second of all targets together, because each of them writes to the control plane.
//
// # Another cluster at the same address
//
// The UID of Namespace kube-system or, in kcp, of LogicalCluster tells a Cluster from others. It is read before the
// first list, and when a stream lists again or its watch was cut. A Cluster that has become another one ends, and its
// users connect anew. We rejected a watch, which needs more rights.
//
// # Layers of a connection
//
// A request passes the deadline and the breaker, which are one layer, the response guard and the fence:
//
//   - No redirect is followed. The kubeconfig says where requests and tokens go, not the server.
//   - What is read is an answer of a Kubernetes API server. Anything else is an error in our own words, because that of
//     a decoder would repeat it: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/runtime/error.go
//   - Only a Status that names the object, or its namespace, says that it does not exist. Only a list of groups says
//     that a kind is not served. A bare 404 is what any proxy gives, so it proves nothing.
//   - Bodies are bounded after decompression. Of a resource beyond the bounds its kind and metadata pass, with an
//     annotation that says why: a decoder that fails ends the list or the watch of everybody, and what is left out
//     would count as gone.
//   - The credentials of tenants reach only addresses that the operator allows. The check is in the dialer, where DNS
//     cannot change the address any more. Who has written credentials is part of their digest, so that tenants and
//     operators share no connection. Tenants do not use the environment's proxies, behind which nobody would check.
//
// There is no client-side rate limit: the number of workers bounds what is in flight, and servers have priority and
// fairness of their own.
//
// # Allowed namespaces
//
// Whether a ClusterProviderConfig allows the namespace of an owner is decided here, each time the owner connects and
// before each of its writes, from the watch of that one namespace. A namespace that the watch does not show is not
// allowed, whatever a selector says of absent labels. The provider may not watch all namespaces everywhere.
//
// # Discovery
//
// Kinds are discovered one group and version at a time, as manifests name them, and only those named are kept. Mappers
// that discover a whole cluster, as that of controller-runtime does, cost megabytes and seconds on targets with many
// CRDs: https://github.com/crossplane-contrib/provider-kubernetes/issues/541
//
// # Credentials
//
// The credentials an owner was connected with last are remembered, for owners that go together with their credentials.
// We rejected a finalizer on Secrets: a Secret that is replaced by deleting it would hang.
package clusters
