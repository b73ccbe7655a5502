// Package handlers gives controllers the events that reach them through a clusters.Registry: of targets, of credentials
// and of ProviderConfigs.
package handlers
