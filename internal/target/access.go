package target

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// An access is how a cluster is reached, and as whom.
type access struct {
	config *rest.Config
	tokens identity.Source // nil if the configuration is enough
	route  route
}

// access returns how the cluster of credentials is reached.
func (o Options) access(c credentials) (a access, err error) {
	k := kubeconfig{}
	a.config = rest.CopyConfig(o.Injected)
	if c.kubeconfig.source != xpv2.CredentialsSourceInjectedIdentity {
		if k, err = parseKubeconfig(c.kubeconfig.content, c.kubeconfig.path); err != nil {
			return access{}, err
		}
	}
	if c.identityType != "" {
		if a.tokens, err = tokens(c, k); err != nil {
			return access{}, err
		}
	}
	if k.cluster != nil {
		secret := c.kubeconfig.source == xpv2.CredentialsSourceSecret
		if a.config, err = k.config(trust{exec: !secret || o.AllowExec, files: !secret}); err != nil {
			return access{}, err
		}
		if err := o.admitProxied(c, a.config); err != nil {
			return access{}, err
		}
	}
	a.config.UserAgent = o.UserAgent
	a.config.WarningHandlerWithContext = rest.NoWarnings{} // They are a server's words, and would be logged.
	if err := impersonate(a.config, c.as); err != nil {
		return access{}, err
	}
	switch {
	case c.endpoint != "":
		a.config.Host = c.endpoint
	case c.workspace != "":
		return a, inWorkspace(a.config, c.workspace)
	}
	return a, nil
}

// impersonate makes a REST configuration act as somebody, unless that is nobody.
func impersonate(cfg *rest.Config, as rest.ImpersonationConfig) error {
	if as.UserName == "" {
		return nil
	}
	if cfg.Impersonate.UserName != "" {
		return errors.New("spec.impersonate cannot be set beside the kubeconfig field users[].user.as")
	}
	cfg.Impersonate = as
	return nil
}

// impersonation returns as whom requests are made for an Object of a namespace, which is empty if the Object is
// cluster-scoped. It has no user name if they are made as whom the credentials say.
func impersonation(i *commonv1.Impersonation, namespace string) (rest.ImpersonationConfig, error) {
	if i == nil {
		return rest.ImpersonationConfig{}, nil
	}
	if i.ServiceAccountName == "" {
		return rest.ImpersonationConfig{UserName: i.User, Groups: i.Groups},
			checkImpersonation("spec.impersonate", append([]string{i.User}, i.Groups...))
	}
	if namespace == "" {
		return rest.ImpersonationConfig{}, errors.New(
			"spec.impersonate.serviceAccountName means a ServiceAccount in the namespace of the Object, and a cluster-scoped " +
				"Object has none: set spec.impersonate.user")
	}
	// The server adds the groups of ServiceAccounts:
	// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
	return rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + i.ServiceAccountName},
		checkImpersonation("spec.impersonate.serviceAccountName", []string{i.ServiceAccountName})
}
