package identities_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		`env: [{name: ORGANIZATION, value: ID}]}`
)

const (
	awsRoles       = "arn:aws:iam::123456789012:role/"  // how the ARNs of roles begin
	googleAccounts = "@project.iam.gserviceaccount.com" // how the addresses of service accounts end
)

// A kind is a kind of identity, as a test makes it for a principal that is of one test alone.
type kind struct {
	identity commonv1.IdentityType
	plugin   string // ID stands for the principal
	// credentials makes a principal known to its cloud. They are the provider's own if they are nil.
	credentials func(tb testing.TB, id string, p cloud.Principal) []byte
	// set completes the identity for a principal.
	set func(id string, i *commonv1.Identity)
	// operator says that only operators may use it.
	operator bool
}

// complete returns what completes the identity for a principal.
func (k kind) complete(id string) func(*commonv1.Identity) {
	return func(i *commonv1.Identity) {
		if k.set != nil {
			k.set(id, i)
		}
	}
}

// azureSecret makes a service principal with a secret.
func azureSecret(tb testing.TB, id string, p cloud.Principal) []byte {
	tb.Helper()
	p.Secret = hunter2 + "-" + id
	return clouds.AzureServicePrincipal(tb, id, p)
}

func kinds() map[string]kind {
	return map[string]kind{
		"GoogleServiceAccount": {identity: commonv1.IdentityGoogle, credentials: clouds.GoogleServiceAccount},
		"GoogleToken": {
			identity: commonv1.IdentityGoogle, plugin: googlePlugin,
			credentials: func(tb testing.TB, id string, p cloud.Principal) []byte {
				return append(clouds.GoogleToken(tb, id, p), '\n')
			},
		},
		"GoogleDefault": {
			identity: commonv1.IdentityGoogle, operator: true,
			credentials: func(tb testing.TB, id string, p cloud.Principal) []byte {
				path := tb.TempDir() + "/google.json"
				if err := os.WriteFile(path, clouds.GoogleServiceAccount(tb, id, p), 0o600); err != nil {
					tb.Fatal(err)
				}
				tb.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
				return nil
			},
		},
		"GoogleImpersonated": {
			identity: commonv1.IdentityGoogle,
			set: func(id string, i *commonv1.Identity) {
				i.ImpersonateServiceAccount = &commonv1.GoogleImpersonation{
					Name: id + googleAccounts, Delegates: []string{"hub" + googleAccounts},
				}
			},
			credentials: func(tb testing.TB, id string, p cloud.Principal) []byte {
				clouds.GoogleTrustingAccount(id+googleAccounts, "stranger", []string{"hub" + googleAccounts}, p)
				return clouds.GoogleServiceAccount(tb, "base-"+id, cloud.Principal{User: "stranger"})
			},
		},
		"AzureSecret": {
			identity: commonv1.IdentityAzureServicePrincipal, plugin: azurePlugin, credentials: azureSecret,
		},
		"AzureCertificate": {
			identity: commonv1.IdentityAzureServicePrincipal, plugin: azurePlugin, credentials: clouds.AzureCertificate,
		},
		"AzureWorkload": {
			identity: commonv1.IdentityAzureWorkload, plugin: azurePlugin, operator: true,
			credentials: clouds.AzureWorkload,
		},
		"AWS": {
			identity: commonv1.IdentityAWSWeb, plugin: awsPlugin, operator: true,
			credentials: func(_ testing.TB, _ string, p cloud.Principal) []byte {
				clouds.AWSWebIdentity(p)
				return nil
			},
		},
		"AWSChain": { // Only who the provider is for EKS itself may assume the first, and only the first the second.
			identity: commonv1.IdentityAWSWeb, plugin: awsPlugin, operator: true,
			set: func(id string, i *commonv1.Identity) {
				i.AWS = &commonv1.AWSIdentity{AssumeRoleChain: []commonv1.AWSRole{
					{RoleARN: awsRoles + "hub", ExternalID: hunter2}, {RoleARN: awsRoles + id},
				}}
			},
			credentials: func(_ testing.TB, id string, p cloud.Principal) []byte {
				clouds.AWSWebIdentity(cloud.Principal{User: "stranger"})
				clouds.AWSTrustingRole(awsRoles+"hub", cloud.AWSRole, hunter2, cloud.Principal{User: "stranger"})
				clouds.AWSTrustingRole(awsRoles+id, awsRoles+"hub", "", p)
				return nil
			},
		},
		"Upbound": { // A token is exchanged for one of an organization.
			identity: commonv1.IdentityUpbound, plugin: upboundPlugin,
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
					w.connect(k.identity, w.kubeconfig(strings.ReplaceAll(k.plugin, "ID", w.user)),
						k.credentials(w, w.user, cloud.Principal{User: w.user}), k.complete(w.user))
					w.keep("settings", "color", "blue")
					w.awaitData("settings", "color", "blue")
					got := target.Audit(t).Since(kube.Mark{}).By(w.user).Count()
					if got["patch configmaps"] != 1 {
						t.Errorf("requests of %s: want one patch, got %v", w.user, got)
					}
				})
			}
		})
	}
}

// hunter2 is part of each secret of these tests.
const hunter2 = "hunter2"

// TestTokensAreRenewed shows that a connection outlives its tokens: the target does not know one that has ended, and
// the connection is used for several lives of one. In provider-kubernetes the source of tokens for AWS dies with the
// first reconcile.
func TestTokensAreRenewed(t *testing.T) {
	const life, lives = 5 * time.Second, 3
	forScopes(t, func(w world) {
		proxy, cfg := kube.NewProxy(w, rest.AnonymousClientConfig(target.Config()))
		w.connect(commonv1.IdentityAzureServicePrincipal,
			[]byte(withPlugin(w, string(kube.Kubeconfig(w, cfg)), azurePlugin)),
			clouds.AzureServicePrincipal(w, w.user, cloud.Principal{User: w.user, Secret: hunter2, Life: life}))
		o := w.keep("settings", "step", "first")
		for step := 0; clouds.Minted(w.user) < lives; step++ {
			w.set(o, "settings", "step", strconv.Itoa(step))
			w.awaitData("settings", "step", strconv.Itoa(step))
			proxy.Cut(0) // Watches begin again too.
			w.awaitReady(o)
		}
	})
}

// TestRefusedIdentityHeals shows that what is wrong with an identity is said without its secret, harms nobody else, and
// is over when the credentials are replaced.
func TestRefusedIdentityHeals(t *testing.T) {
	type credentials = func(testing.TB, string, cloud.Principal) []byte
	azure, google := commonv1.IdentityAzureServicePrincipal, commonv1.IdentityGoogle
	for name, tc := range map[string]struct {
		identity  commonv1.IdentityType
		plugin    string
		good      credentials // none if the kubeconfig is bad
		bad, want string
	}{
		"AzureSecret": {
			identity: azure, plugin: azurePlugin, good: azureSecret,
			bad:  `{"clientId":"nobody","clientSecret":"hunter2-hunter2","tenantId":"tenant"}`,
			want: "the token endpoint responds with 401 Unauthorized, invalid_client",
		},
		"AzureWithoutPlugin": { // The kubeconfig says for which server a token is.
			identity: azure, bad: `{"clientId":"a","clientSecret":"hunter2","tenantId":"tenant"}`,
			want: "users[].user.exec.args is missing",
		},
		"GoogleKey": {
			identity: google, good: clouds.GoogleServiceAccount,
			bad: `{"type":"service_account","client_email":"a","private_key":"hunter2",` +
				`"token_uri":"https://oauth2.googleapis.com/token"}`, want: "no token is returned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(w world) {
				w.connect(tc.identity, w.kubeconfig(tc.plugin), []byte(tc.bad))
				o := w.object("settings", "color", "blue")
				kube.Create(w, w.c, o)
				w.awaitInvalid(o, tc.want)
				if tc.good != nil {
					w.setIdentity(tc.good(w, w.user, cloud.Principal{User: w.user}))
					w.awaitReady(o)
				}
				w.checkSecretsKept(o)
			})
		})
	}
}

// checkSecretsKept checks that neither an Object nor an event about it holds a secret.
func (w world) checkSecretsKept(o build.Object) {
	w.Helper()
	events := &corev1.EventList{}
	kube.List(w, w.c, events)
	kube.Get(w, w.c, client.ObjectKeyFromObject(o), o)
	for _, v := range []any{events, o} {
		b, err := json.Marshal(v)
		if err != nil {
			w.Fatal(err)
		}
		if i := strings.Index(string(b), hunter2); i >= 0 {
			w.Errorf("a %T holds a secret: …%s…", v, b[max(0, i-100):min(len(b), i+100)])
		}
	}
}
