package main

import "github.com/alecthomas/kingpin/v2"

// tenancy says what namespaced resources, which tenants write, may use.
type tenancy struct {
	crossNamespace      bool
	providerCredentials bool
}

func (t *tenancy) addTo(app *kingpin.Application) {
	app.Flag("allow-cross-namespace-references", "Let namespaced Objects refer to other namespaces and to cluster-scoped resources, and ProviderConfigs to Secrets of other namespaces.").
		Envar("ALLOW_CROSS_NAMESPACE_REFERENCES").BoolVar(&t.crossNamespace)
	app.Flag("allow-namespaced-provider-credentials", "Let namespaced ProviderConfigs use the environment, files and identities of the provider.").
		Envar("ALLOW_NAMESPACED_PROVIDER_CREDENTIALS").BoolVar(&t.providerCredentials)
}
