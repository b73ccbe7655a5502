package main

import (
	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
)

// tenancy says what namespaced resources, which tenants write, may use.
type tenancy struct {
	crossNamespace      bool
	providerCredentials bool
	restrictConfigs     bool
	allowed             []string // CIDRs
	denied              []string // CIDRs
}

func (t *tenancy) addTo(app *kingpin.Application) {
	app.Flag("allow-cross-namespace-references",
		"Let namespaced Objects refer to other namespaces and to cluster-scoped resources, "+
			"and ProviderConfigs to Secrets of other namespaces.").
		Envar("ALLOW_CROSS_NAMESPACE_REFERENCES").BoolVar(&t.crossNamespace)
	app.Flag("allow-namespaced-provider-credentials",
		"Let namespaced ProviderConfigs use the environment, files and identities of the provider.").
		Envar("ALLOW_NAMESPACED_PROVIDER_CREDENTIALS").BoolVar(&t.providerCredentials)
	app.Flag("restrict-cluster-provider-configs",
		"Keep ClusterProviderConfigs without allowedNamespaces from resources of all namespaces.").
		Envar("RESTRICT_CLUSTER_PROVIDER_CONFIGS").BoolVar(&t.restrictConfigs)
	app.Flag("allowed-target-cidrs",
		"Networks that kubeconfigs of namespaced ProviderConfigs may point at, and no others. "+
			"Repeatable, or separated by commas.").
		Envar("ALLOWED_TARGET_CIDRS").StringsVar(&t.allowed)
	app.Flag("denied-target-cidrs",
		"Networks that kubeconfigs of namespaced ProviderConfigs may not point at, beside link-local ones. "+
			"Repeatable, or separated by commas.").
		Envar("DENIED_TARGET_CIDRS").StringsVar(&t.denied)
}

// addresses returns the addresses that tenants may point at.
func (t *tenancy) addresses() (clusters.Addresses, error) {
	_, err := rest.InClusterConfig()
	a := clusters.Addresses{Pod: err == nil}
	if a.Allowed, err = clusters.ParseNetworks(t.allowed); err != nil {
		return a, errors.Wrap(err, "--allowed-target-cidrs")
	}
	a.Denied, err = clusters.ParseNetworks(t.denied)
	return a, errors.Wrap(err, "--denied-target-cidrs")
}
