package clusters

import (
	"context"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/aws"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/azure"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/google"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/upbound"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// An access is how a cluster is reached, and as whom.
type access struct {
	config *rest.Config
	tokens identity.Source // nil if the configuration is enough
	route  route
	tenant string // the namespace of who connects first
}

// access returns how the cluster of credentials is reached, but for the route.
func (o Options) access(c credentials) (a access, err error) {
	k := kubeconfig{}
	a.config = rest.CopyConfig(o.Injected)
	byAccount := c.kubeconfig.source == commonv1.CredentialsSourceServiceAccount
	switch {
	case c.kubeconfig.source == xpv2.CredentialsSourceInjectedIdentity:
	case byAccount:
		a.config = rest.AnonymousClientConfig(o.Injected) // A client certificate would win over a token.
	default:
		if k, err = parseKubeconfig(c.kubeconfig.content, c.kubeconfig.path); err != nil {
			return a, err
		}
	}
	if c.identityType != "" {
		if a.tokens, err = tokens(c, k); err != nil {
			return a, err
		}
		a.config.ExecProvider = nil // The identity stands in for it.
	}
	if k.cluster != nil {
		secret := c.kubeconfig.source == xpv2.CredentialsSourceSecret
		if a.config, err = k.config(trust{exec: !secret || o.AllowExec, files: !secret}); err == nil {
			err = o.admitProxied(c.writer, a.config)
		}
		if err != nil {
			return a, err
		}
		RunPluginBy(o.RunPlugins, a.config)
	}
	a.config.UserAgent = o.UserAgent
	a.config.WarningHandlerWithContext = rest.NoWarnings{} // They are a server's words, and would be logged.
	switch {
	case c.endpoint != "" && byAccount:
		// Its token is for the server that has issued it, and for no other that somebody names.
		err = errors.New("spec.credentials.source ServiceAccount cannot be used with APIExports: use Secret or " +
			"InjectedIdentity")
	case c.endpoint != "":
		a.config.Host = c.endpoint
	case c.workspace != "":
		err = inWorkspace(a.config, c.workspace)
	}
	switch {
	case err != nil, c.as.UserName == "":
		return a, err
	case a.config.Impersonate.UserName != "":
		return a, errors.New("spec.impersonate and the kubeconfig field users[].user.as cannot both be set: remove one")
	}
	a.config.Impersonate = c.as
	return a, nil
}

// tokens returns the Source of tokens of an identity. It takes the plugins out of the kubeconfig, whose place it takes.
// The kubeconfig is empty if there is none. A source must go with the type: AWS has only the provider's own, Google may
// have it, and the others may not.
func tokens(c credentials, k kubeconfig) (identity.Source, error) {
	plugin, own := k.takePlugin(), c.identity.source == xpv2.CredentialsSourceInjectedIdentity
	written := !own && c.identity.source != xpv2.CredentialsSourceNone
	switch t := c.identityType; {
	case c.identity.source == commonv1.CredentialsSourceServiceAccount: // It goes with none.
	case t == commonv1.IdentityGoogle:
		base, err := google.Default(), error(nil)
		if written {
			base, err = google.New(c.identity.content, c.writer)
		}
		return google.As(base, c.googleAccount.Name, c.googleAccount.Delegates), err
	case t == commonv1.IdentityAWSWeb && own:
		return aws.New(k.clusterName, rolesOf(c)...)
	case t == commonv1.IdentityAzureServicePrincipal && written:
		return azure.ServicePrincipal(c.identity.content, c.writer, plugin)
	case t == commonv1.IdentityAzureWorkload && written:
		return azure.Workload(c.identity.content, c.writer, plugin)
	case t == commonv1.IdentityUpbound && written:
		return upbound.New(c.identity.content, plugin)
	case t == commonv1.IdentityNebius:
		// Its library is not in the checksum database of Go, and brings gRPC.
		return nil, errors.Errorf("spec.identity.type %s is not built in: use a kubeconfig with a token", t)
	}
	return nil, errors.Errorf("spec.identity.source %s cannot be used with type %s: use Secret, or InjectedIdentity for "+
		"AWS",
		c.identity.source, c.identityType)
}

// rolesOf returns the roles that an identity assumes, as package aws knows them.
func rolesOf(c credentials) (roles []aws.Role) {
	for _, r := range c.roles {
		role := aws.Role{
			ARN: r.RoleARN, ExternalID: r.ExternalID, TransitiveTagKeys: r.TransitiveTagKeys, Tags: map[string]string{},
		}
		for _, t := range r.Tags {
			role.Tags[t.Key] = t.Value
		}
		roles = append(roles, role)
	}
	return roles
}

// credentials returns those of a ProviderConfig for an owner, if it may use them.
func (r *Registry) credentials(ctx context.Context, by informer.Owner, c commonv1.Connection) (credentials, error) {
	err := r.Admit(ctx, by, c)
	if informer.IsNotSynced(err) {
		return credentials{}, err
	}
	defer r.local.watches.Done(by, purposeCredentials)
	if err != nil {
		return credentials{}, err
	}
	return r.options.resolve(ctx, c, reader{
		namespace: by.Namespace, tenant: c.Tenant,
		get: func(ctx context.Context, i informer.WatchRequest) (*unstructured.Unstructured, error) {
			return r.local.Get(ctx, by, purposeCredentials, i)
		},
	})
}
