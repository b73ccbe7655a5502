// Package version tells which version of the provider this is.
package version

// Version of the provider. It is set by the linker.
var Version = "v0.0.0-dev"

// UserAgent is what the provider calls itself towards API servers.
func UserAgent() string { return "provider-kcp/" + Version }
