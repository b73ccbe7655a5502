package clusters

import (
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// TestSourceOfIdentity shows which sources go with which identities.
func TestSourceOfIdentity(t *testing.T) {
	const (
		none   = xpv2.CredentialsSourceNone
		own    = xpv2.CredentialsSourceInjectedIdentity
		secret = xpv2.CredentialsSourceSecret
	)
	for name, tc := range map[string]struct {
		reason   string
		identity commonv1.IdentityType
		source   xpv2.CredentialsSource
		err      string // part of the message
	}{
		"GoogleOwn": {
			reason:   "The provider may have Google credentials.",
			identity: commonv1.IdentityGoogle,
			source:   own,
		},
		"GoogleNone": {
			reason:   "Without any, Google's library looks for them.",
			identity: commonv1.IdentityGoogle,
			source:   none,
		},
		"AWSOwn": {
			reason:   "The provider may have AWS credentials.",
			identity: commonv1.IdentityAWSWeb,
			source:   own,
		},
		"AWSSecret": {
			reason:   "Nobody else has.",
			identity: commonv1.IdentityAWSWeb,
			source:   secret,
			err:      "spec.identity.source Secret does not go with type AWSWebIdentityCredentials",
		},
		"AzureOwn": {
			reason:   "Azure's are written down.",
			identity: commonv1.IdentityAzureServicePrincipal,
			source:   own,
			err:      "does not go with type AzureServicePrincipalCredentials",
		},
		"AzureNone": {
			reason:   "Azure's are written down.",
			identity: commonv1.IdentityAzureServicePrincipal,
			source:   none,
			err:      "does not go with type AzureServicePrincipalCredentials",
		},
		"AzureWorkload": {
			reason:   "Also those of workloads.",
			identity: commonv1.IdentityAzureWorkload,
			source:   own,
			err:      "does not go with type AzureWorkloadIdentityCredentials",
		},
		"UpboundOwn": {
			reason:   "So are Upbound's.",
			identity: commonv1.IdentityUpbound,
			source:   own,
			err:      "does not go with type UpboundTokens",
		},
		"Nebius": {
			reason:   "Nebius is not built in.",
			identity: commonv1.IdentityNebius,
			source:   secret,
			err:      "spec.identity.type NebiusServiceAccountCredentials is not built in",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := parseKubeconfig(kubeconfigOf(`server: "https://127.0.0.1"`, ``), "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = tokens(credentials{identityType: tc.identity, identity: document{source: tc.source}}, k)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.err, err)
			}
		})
	}
}

// TestIdentityWithoutKubeconfig shows that the provider's own cluster may be used by an identity that needs no
// kubeconfig, and that one which does says so.
func TestIdentityWithoutKubeconfig(t *testing.T) {
	own := document{source: xpv2.CredentialsSourceInjectedIdentity}
	if _, err := tokens(credentials{identityType: commonv1.IdentityGoogle, identity: own}, kubeconfig{}); err != nil {
		t.Error(err)
	}
	if _, err := tokens(credentials{identityType: commonv1.IdentityAWSWeb, identity: own}, kubeconfig{}); err == nil {
		t.Error("AWS needs the name of the cluster")
	}
}
