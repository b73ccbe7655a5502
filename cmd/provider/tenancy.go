package main

import (
	"github.com/alecthomas/kingpin/v2"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/version"
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
			"and namespaced ProviderConfigs to Secrets of other namespaces.").
		Envar("ALLOW_CROSS_NAMESPACE_REFERENCES").BoolVar(&t.crossNamespace)
	app.Flag("allow-namespaced-provider-credentials",
		"Let namespaced ProviderConfigs use the environment, files and identities of the provider.").
		Envar("ALLOW_NAMESPACED_PROVIDER_CREDENTIALS").BoolVar(&t.providerCredentials)
	app.Flag("restrict-cluster-provider-configs",
		"Let no namespace use a ClusterProviderConfig without allowedNamespaces.").
		Envar("RESTRICT_CLUSTER_PROVIDER_CONFIGS").BoolVar(&t.restrictConfigs)
	app.Flag("allowed-target-cidrs",
		"The only networks that kubeconfigs of namespaced ProviderConfigs may refer to. Repeatable, or separated by commas.").
		Envar("ALLOWED_TARGET_CIDRS").StringsVar(&t.allowed)
	app.Flag("denied-target-cidrs",
		"Networks that kubeconfigs of namespaced ProviderConfigs may not refer to. Metadata servers are always denied. "+
			"Repeatable, or separated by commas.").
		Envar("DENIED_TARGET_CIDRS").StringsVar(&t.denied)
}

// targets returns the options of connections.
func (f *flags) targets() (clusters.Options, error) {
	t := f.tenancy
	o := clusters.Options{
		UserAgent: version.UserAgent(), AllowExec: f.allowExec, AllowCrossNamespace: t.crossNamespace,
		AllowProviderCredentials: t.providerCredentials, RestrictClusterConfigs: t.restrictConfigs,
	}
	_, err := rest.InClusterConfig()
	o.Addresses.Pod = err == nil
	if o.Addresses.Allowed, err = clusters.ParseNetworks(t.allowed); err != nil {
		return o, errors.Wrap(err, "--allowed-target-cidrs")
	}
	o.Addresses.Denied, err = clusters.ParseNetworks(t.denied)
	return o, errors.Wrap(err, "--denied-target-cidrs")
}
