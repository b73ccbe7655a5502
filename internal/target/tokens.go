package target

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/aws"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/azure"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/google"
	"github.com/crossplane-contrib/provider-kcp/internal/identity/upbound"
)

// tokens returns the Source of tokens of an identity. It takes the plugins out of the kubeconfig, whose place it takes. The kubeconfig is
// empty if there is none.
func tokens(c credentials, k kubeconfig) (identity.Source, error) {
	plugin := k.takePlugin()
	own := c.identity.source == xpv2.CredentialsSourceInjectedIdentity
	none := c.identity.source == xpv2.CredentialsSourceNone
	content := c.identity.content
	switch c.identityType {
	case commonv1.IdentityGoogle:
		if own || none {
			return google.Default(), nil
		}
		return google.New(content, c.writer)
	case commonv1.IdentityAWSWeb:
		if own {
			return aws.New(k.clusterName)
		}
		return nil, errors.Errorf("spec.identity.source %s does not go with type %s: it must be InjectedIdentity", c.identity.source, c.identityType)
	case commonv1.IdentityNebius:
		return nil, errors.Errorf("spec.identity.type %s is not built in", c.identityType)
	case commonv1.IdentityAzureServicePrincipal, commonv1.IdentityAzureWorkload, commonv1.IdentityUpbound:
	}
	if own || none {
		return nil, errors.Errorf("spec.identity.source %s does not go with type %s", c.identity.source, c.identityType)
	}
	switch c.identityType {
	case commonv1.IdentityAzureServicePrincipal:
		return azure.ServicePrincipal(content, c.writer, plugin)
	case commonv1.IdentityAzureWorkload:
		return azure.Workload(content, c.writer, plugin)
	case commonv1.IdentityUpbound:
		return upbound.New(content, plugin)
	case commonv1.IdentityGoogle, commonv1.IdentityAWSWeb, commonv1.IdentityNebius:
	}
	return nil, errors.Errorf("spec.identity.type %q is unknown", c.identityType)
}
