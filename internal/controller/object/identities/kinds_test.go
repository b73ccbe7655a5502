package identities_test

import (
	"os"
	"testing"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/cloud"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Plugins, as the tools of the clouds write them into kubeconfigs. None is there to be run.
const (
	azurePlugin = `{apiVersion: client.authentication.k8s.io/v1beta1, command: kubelogin, interactiveMode: IfAvailable, ` +
		`args: [get-token, --login, spn, --server-id, ` + cloud.AzureServer + `]}`
	awsPlugin = `{apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [eks, get-token, ` +
		`--cluster-name, target]}`
	googlePlugin = `{apiVersion: client.authentication.k8s.io/v1beta1, command: gke-gcloud-auth-plugin, ` +
		`provideClusterInfo: true}`
	upboundPlugin = `{apiVersion: client.authentication.k8s.io/v1, command: up, args: [organization, token], ` +
		`env: [{name: ORGANIZATION, value: `
)

// A kind is a kind of identity, as a test makes it for a principal that is of one test alone.
type kind struct {
	reason   string
	identity commonv1.IdentityType
	plugin   func(id string) string
	// credentials makes a principal known to its cloud. They are the provider's own if they are nil.
	credentials func(tb testing.TB, id string, p cloud.Principal) []byte
	// operator says that only operators may use it.
	operator bool
}

// azureSecret makes a service principal with a secret.
func azureSecret(tb testing.TB, id string, p cloud.Principal) []byte {
	tb.Helper()
	p.Secret = hunter2 + "-" + id
	return clouds.AzureServicePrincipal(tb, id, p)
}

func always(plugin string) func(string) string { return func(string) string { return plugin } }

func kinds() map[string]kind {
	return map[string]kind{
		"GoogleServiceAccount": {
			reason: "The key of a service account makes tokens of Google.", identity: commonv1.IdentityGoogle,
			plugin:      always(""),
			credentials: clouds.GoogleServiceAccount,
		},
		"GoogleToken": {
			reason: "A bare access token is one.", identity: commonv1.IdentityGoogle, plugin: always(googlePlugin),
			credentials: func(tb testing.TB, id string, p cloud.Principal) []byte {
				return append(clouds.GoogleToken(tb, id, p), '\n')
			},
		},
		"GoogleDefault": {
			reason: "The provider has Google credentials of its own.", identity: commonv1.IdentityGoogle,
			plugin: always(""), operator: true,
			credentials: func(tb testing.TB, id string, p cloud.Principal) []byte {
				path := tb.TempDir() + "/google.json"
				if err := os.WriteFile(path, clouds.GoogleServiceAccount(tb, id, p), 0o600); err != nil {
					tb.Fatal(err)
				}
				tb.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
				return nil
			},
		},
		"AzureSecret": {
			reason: "A service principal has a secret.", identity: commonv1.IdentityAzureServicePrincipal,
			plugin:      always(azurePlugin),
			credentials: azureSecret,
		},
		"AzureCertificate": {
			reason: "A service principal has a certificate.", identity: commonv1.IdentityAzureServicePrincipal,
			plugin:      always(azurePlugin),
			credentials: clouds.AzureCertificate,
		},
		"AzureWorkload": {
			reason: "A workload has a federated token.", identity: commonv1.IdentityAzureWorkload,
			plugin: always(azurePlugin), operator: true,
			credentials: clouds.AzureWorkload,
		},
		"AWS": {
			reason: "The provider has a web identity.", identity: commonv1.IdentityAWSWeb, plugin: always(awsPlugin),
			operator: true,
			credentials: func(_ testing.TB, _ string, p cloud.Principal) []byte {
				clouds.AWSWebIdentity(p)
				return nil
			},
		},
		"Upbound": {
			reason: "A token is exchanged for one of an organization.", identity: commonv1.IdentityUpbound,
			plugin: func(id string) string { return upboundPlugin + id + "}]}" },
			credentials: func(_ testing.TB, id string, p cloud.Principal) []byte {
				p.Secret = "hunter2-" + id
				clouds.Add(id, p)
				return []byte("\n" + p.Secret + "\n")
			},
		},
	}
}

// TestIdentities shows that the token of each kind of identity reaches the target, which knows by it who asks.
func TestIdentities(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			scopes := build.Scopes()
			if k.operator {
				scopes = []build.Scope{build.Cluster()}
			}
			for _, s := range scopes {
				t.Run(s.Name, func(t *testing.T) {
					w := newWorld(t, s)
					w.connect(k.identity, w.kubeconfig(k.plugin(w.user)),
						k.credentials(w, w.user, cloud.Principal{User: w.user}))
					w.keep("settings", "color", "blue")
					w.awaitData("settings", map[string]string{"color": "blue"})
					got := target.Audit(t).Since(kube.Mark{}).By(w.user).Count()
					if got["patch configmaps"] != 1 {
						t.Errorf("%s\nrequests of %s: want one patch, got %v", k.reason, w.user, got)
					}
				})
			}
		})
	}
}
