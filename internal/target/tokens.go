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

// tokens returns the Source of tokens of an identity. It takes the plugins out of the kubeconfig, whose place it takes.
// The kubeconfig is empty if there is none.
func tokens(c credentials, k kubeconfig) (identity.Source, error) {
	plugin := k.takePlugin()
	if err := checkSource(c); err != nil {
		return nil, err
	}
	switch c.identityType {
	case commonv1.IdentityGoogle:
		if written(c.identity.source) {
			return google.New(c.identity.content, c.writer)
		}
		return google.Default(), nil
	case commonv1.IdentityAWSWeb:
		return aws.New(k.clusterName)
	case commonv1.IdentityAzureServicePrincipal:
		return azure.ServicePrincipal(c.identity.content, c.writer, plugin)
	case commonv1.IdentityAzureWorkload:
		return azure.Workload(c.identity.content, c.writer, plugin)
	case commonv1.IdentityUpbound:
		return upbound.New(c.identity.content, plugin)
	case commonv1.IdentityNebius:
		// Its library is not in the checksum database of Go, and brings gRPC.
		return nil, errors.Errorf("spec.identity.type %s is not built in", c.identityType)
	}
	return nil, errors.Errorf("spec.identity.type %q is unknown", c.identityType)
}

// written reports whether a source holds credentials that somebody has written.
func written(source xpv2.CredentialsSource) bool {
	return source != xpv2.CredentialsSourceInjectedIdentity && source != xpv2.CredentialsSourceNone
}

// checkSource finds a source that does not go with a type of identity: AWS has only the provider's own, Google may have
// it, and the others may not.
func checkSource(c credentials) error {
	fits := written(c.identity.source)
	switch c.identityType {
	case commonv1.IdentityGoogle, commonv1.IdentityNebius:
		fits = true
	case commonv1.IdentityAWSWeb:
		fits = c.identity.source == xpv2.CredentialsSourceInjectedIdentity
	case commonv1.IdentityAzureServicePrincipal, commonv1.IdentityAzureWorkload, commonv1.IdentityUpbound:
	}
	if fits {
		return nil
	}
	return errors.Errorf("spec.identity.source %s does not go with type %s", c.identity.source, c.identityType)
}
