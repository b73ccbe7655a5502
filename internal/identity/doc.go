// Package identity authenticates to targets by tokens of cloud identities, and to the control plane by those of its
// ServiceAccounts.
//
// A Source mints tokens for one vendor's identities. Each package below this one is such a Source, built on the
// vendor's library. A Keeper caches the token of one Source for all who share a connection. This package makes no
// writes, and knows no kind of ours.
//
// # Decisions
//
// A token is cached for a connection, not for a reconcile. It is minted when it is first needed, and replaced one
// minute before it expires. After a failure the Source is asked again by the first caller after ten seconds. All other
// callers get the error at once, so that a token endpoint that does not answer blocks no worker. We rejected a
// goroutine for each token: callers ask often enough.
//
// Making a Source sends no request and reads no file. So an invalid identity is reported where it is written, and a
// slow vendor delays its own Keeper only.
//
// Errors of a vendor's library are not passed on. They contain whole responses of token endpoints, with times and
// identifiers that differ each time, and possibly credentials. An Exchange says what is safe and stable.
//
// Credential plugins, which the vendors' kubeconfigs name, are not run: the image does not contain them, and a
// kubeconfig is data. Only their arguments are read.
package identity
