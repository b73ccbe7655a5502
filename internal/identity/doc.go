// Package identity authenticates to targets by tokens of cloud identities, and to the control plane by those of its
// ServiceAccounts.
//
// A Source mints tokens, each in the way of one vendor; the packages below this one hold them, each with the library of
// its vendor. A Keeper has one Source and keeps its token fresh for a connection and all who share it. It writes
// nothing, and knows no kind of ours.
//
// # Decisions
//
// A token belongs to a connection and not to a reconcile: it is minted once, with the context of the connection, and
// replaced a minute before it ends. A Source that fails is asked again after ten seconds, by whoever needs a token
// then. Callers are told at once why there is none, so that a token endpoint that does not answer holds no worker. A
// goroutine for each token was rejected: who needs one asks often enough.
//
// Making a Source asks nobody and reads no file, so that a bad identity is found where it is written, and a slow one
// waits in its Keeper alone.
//
// No error of a vendor's library is repeated. They hold whole answers of token endpoints, with times and identifiers
// that differ each time, and in the worst case what was sent. An Exchange says what is safe and stable.
//
// Credential plugins, which the kubeconfigs of the vendors name, are not run: their programs are not in the image, and
// a kubeconfig is data. Only their arguments are read.
package identity
