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
		"GoogleOwn":  {"The provider may have Google credentials.", commonv1.IdentityGoogle, own, ""},
		"GoogleNone": {"Without any, Google's library looks for them.", commonv1.IdentityGoogle, none, ""},
		"AWSOwn":     {"The provider may have AWS credentials.", commonv1.IdentityAWSWeb, own, ""},
		"AWSSecret": {
			"Nobody else has.", commonv1.IdentityAWSWeb, secret,
			"spec.identity.source Secret does not go with type AWSWebIdentityCredentials",
		},
		"AzureOwn":      {"Azure's must be given.", commonv1.IdentityAzureServicePrincipal, own, "not go with type Azure"},
		"AzureNone":     {"They are needed.", commonv1.IdentityAzureServicePrincipal, none, "not go with type Azure"},
		"AzureWorkload": {"Also those of workloads.", commonv1.IdentityAzureWorkload, own, "not go with type Azure"},
		"UpboundOwn":    {"So are Upbound's.", commonv1.IdentityUpbound, own, "does not go with type UpboundTokens"},
		"Nebius":        {"It is not built in.", commonv1.IdentityNebius, secret, "type NebiusServiceAccountCredentials is"},
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
