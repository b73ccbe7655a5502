// Package identity authenticates to targets by tokens of cloud identities, and to the control plane by those of its
// ServiceAccounts. Each package below mints the tokens of one vendor, as a Source. A Keeper caches the token of one
// Source for all who share a connection.
//
// A token is minted when it is needed, and replaced one minute before it expires. After a failure the Source is asked
// again by the first caller after ten seconds; all others get the error at once, so that a token endpoint that does not
// answer blocks no worker.
//
// Making a Source sends no request and reads no file, so that an invalid identity is reported where it is written.
//
// Errors of a vendor's library are not passed on. They contain whole responses of token endpoints, with times and
// possibly credentials. An Exchange says what is safe and stable.
//
// Credential plugins, which the vendors' kubeconfigs name, are not run: a kubeconfig is data. Only their arguments are
// read.
package identity
