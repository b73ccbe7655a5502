// Package clusters connects to clusters and kcp workspaces, and keeps each connection for all who use it.
//
// A Registry hands out one Cluster per set of credentials, however many ProviderConfigs and objects share them. A
// Cluster owns all that is per cluster: the REST configuration and its one transport, the kinds it serves, the watches,
// and a circuit breaker. It lives from its first user to its last. Credential Secrets are watched one by one, by name,
// on the control plane.
//
// # Dead clusters
//
// A cluster that does not answer holds no worker. A goroutine probes it, before anybody may use it and whenever a
// request fails or stays unanswered for 2 seconds. A probe that fails opens the circuit breaker: requests in flight are
// cancelled, new ones fail at once with ErrUnreachable, and the first answer to a probe wakes all users. A request that
// has failed returns when the probe has decided, so that its error tells an outage from a fault of the request. We
// rejected deadlines alone: an admission webhook may rightly take 30 seconds, and workers that wait for a dead cluster
// that long are lost to the living ones. Connections of a tenant to one address take turns to probe it again, once a
// second. We rejected sharing the result of a probe, because certificates and proxies differ, and turns of all tenants,
// because one could delay how another's target is found to be back. We rejected a bound of the requests that wait for a
// cluster which answers nothing but probes: package fairqueue bounds the workers that do, and one webhook that hangs
// would end all other requests.
//
// The ProviderConfigs of a target hear of its outage at once. Its users are woken if the outage lasts 10 s, 50 in a
// second of all targets together, because each of them writes to the control plane. We rejected a delay in each
// controller: only the breaker knows when an outage has begun, and whether it is still the same.
//
// # Another cluster at the same address
//
// The UID of Namespace kube-system or, in kcp, of LogicalCluster tells a Cluster from others. It is read before the
// first list, and when a stream lists again or its watch was cut. A Cluster that has become another one ends, and its
// users connect anew. We rejected a watch, which needs more rights, and lists alone, as mappings of kinds would stay.
//
// # Retries
//
// An owner that fails is retried soon at first, then ever later, up to a minute. Owners of one namespace share a bucket
// of tokens for a target, so that thousands which fail keep no processor busy, and put off nobody else.
//
// # Layers of a connection
//
// A request passes, in this order, the deadline and the breaker, which are one layer, the response guard and the fence:
//
//   - A read has 10 seconds, a list 60, a write 35, and the headers of a watch 10. Each request ends with the context
//     of its pass, but for those of Discovery, whose methods take none.
//   - No redirect is followed. The kubeconfig says where requests and tokens go, not the server.
//   - What is read is an answer of a Kubernetes API server: a Status, or an object with kind and apiVersion. Anything
//     else is an error in our own words. A decoder's error would repeat it:
//     https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/runtime/error.go
//   - Only a Status that names the object, or its namespace, says that it does not exist. Only a list of groups says
//     that a kind is not served. A bare 404 is what any proxy gives, so it proves nothing; callers ask IsUnserved, and
//     discovery decides.
//   - Bodies are bounded after decompression, in bytes and in values. The wall reads all answers but those to watches,
//     as client-go does, so that they can be checked and a request is over when it returns.
//   - Resources are bounded, too, in bytes, values and levels. Of one beyond that its kind and metadata pass, with an
//     annotation that says why: a decoder that fails ends the list or the watch of everybody, and what is left out
//     would count as gone. Whoever reads content asks informer.Unreadable first.
//   - The credentials of tenants reach only addresses that the operator allows. The check is in the dialer, where DNS
//     cannot change the address any more; who has written credentials is part of their digest, so that tenants and
//     operators share no connection. Tenants do not use the environment's proxies, behind which nobody would check, and
//     their tokens come from the clouds' own hosts, by the same dialer.
//
// # Allowed namespaces
//
// Whether a ClusterProviderConfig allows the namespace of an owner is decided here, each time the owner connects and
// before each of its writes, from the watch of that one namespace. A namespace that the watch does not show is not
// allowed, whatever a selector says of absent labels. We rejected a check where references are read, because each kind
// would need one, and a cache of all namespaces, because the provider may not watch them everywhere.
//
// # No rate limit
//
// There is no client-side rate limit. The number of workers bounds what is in flight, steady state makes no API calls,
// and servers have priority and fairness of their own. newCluster is the one place for a limit: it makes the
// configuration that all clients of a Cluster copy, with its limiter.
//
// # Discovery
//
// Kinds are discovered one group and version at a time, as manifests name them, and only those named are kept: a server
// may serve any number. We rejected a mapper that discovers a whole cluster: it costs megabytes and seconds on targets
// with many CRDs: https://github.com/crossplane-contrib/provider-kubernetes/issues/541
// The lazy one of controller-runtime does that, too, where a server has aggregated discovery, and knows no verbs. Who
// waits for a kind asks again when it is retried.
//
// # Credentials
//
// The credentials an owner was connected with last are remembered until it is forgotten, for owners that go together
// with their credentials. We rejected a finalizer on Secrets: a Secret that is replaced by deleting it would hang.
//
// A kubeconfig from a Secret is data from a user. It may not run programs or read files of the provider's container,
// unless the operator allows it. One from the container's environment or file system may.
package clusters
