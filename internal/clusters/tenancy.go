package clusters

import (
	"net/netip"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// admit returns an error that names the field by which a namespaced ProviderConfig reaches for what is not its
// tenant's, and the flag that allows it. It is the one check of that: all connections come from here.
func (o Options) admit(c commonv1.Connection) error {
	if c.Tenant == "" {
		return nil
	}
	if err := o.admitSource("spec.credentials", c.Tenant, c.Spec.Credentials); err != nil || c.Spec.Identity == nil {
		return err
	}
	id := c.Spec.Identity.ProviderCredentials
	if id.Source == xpv2.CredentialsSourceNone {
		// Without credentials a vendor's library looks for the provider's.
		id.Source = xpv2.CredentialsSourceInjectedIdentity
	}
	return o.admitSource("spec.identity", c.Tenant, id)
}

func (o Options) admitSource(field, tenant string, p commonv1.ProviderCredentials) error {
	switch p.Source {
	case xpv2.CredentialsSourceSecret:
		if !o.AllowCrossNamespace && p.SecretRef != nil && p.SecretRef.Namespace != "" && p.SecretRef.Namespace != tenant {
			return errors.Errorf("%s.secretRef.namespace must be %q, the namespace of the ProviderConfig, "+
				"as the provider runs without --allow-cross-namespace-references", field, tenant)
		}
	case xpv2.CredentialsSourceEnvironment, xpv2.CredentialsSourceFilesystem, xpv2.CredentialsSourceInjectedIdentity:
		if !o.AllowProviderCredentials {
			return errors.Errorf("%s.source %s is only for cluster-scoped ProviderConfigs, "+
				"as the provider runs without --allow-namespaced-provider-credentials", field, p.Source)
		}
	case xpv2.CredentialsSourceNone:
	}
	return nil
}

// admitProxied returns an error if a tenant's server is at an address that is denied. Behind a proxy, nobody else
// checks it. What a name means is for the proxy to know.
func (o Options) admitProxied(c credentials, cfg *rest.Config) error {
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return errors.New("cannot parse the server of the kubeconfig")
	}
	ip, err := netip.ParseAddr(server.Hostname())
	if c.writer != identity.WriterTenant || cfg.Proxy == nil || err != nil {
		return nil //nolint:nilerr // It is a name.
	}
	return errors.Wrap(o.Addresses.check(ip), "cannot connect to the server of the kubeconfig")
}

// writer returns whose word a ProviderConfig and the credentials it names are.
func (o Options) writer(c commonv1.Connection) identity.Writer {
	if c.Tenant == "" || o.AllowProviderCredentials {
		return identity.WriterOperator
	}
	return identity.WriterTenant
}
