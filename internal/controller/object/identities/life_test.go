package identities_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/cloud"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// hunter2 is part of each secret of these tests.
const hunter2 = "hunter2"

// TestTokensAreShared shows that all Objects of a connection use one token, however often they are reconciled.
// A defect of provider-kubernetes: it mints tokens for each reconcile.
func TestTokensAreShared(t *testing.T) {
	const objects, changes = 10, 5
	forScopes(t, func(w world) {
		id := w.user + "@example.org"
		w.connect(commonv1.IdentityGoogle, w.kubeconfig(""),
			clouds.GoogleServiceAccount(w, id, cloud.Principal{User: w.user}))
		all := make([]build.Object, objects)
		for i := range all {
			all[i] = w.object("settings-"+strconv.Itoa(i), "step", "first")
			kube.Create(w, w.c, all[i])
		}
		for step := range changes {
			for i, o := range all {
				w.awaitReady(o)
				w.set(o, "settings-"+strconv.Itoa(i), "step", strconv.Itoa(step))
			}
		}
		for i := range all {
			w.awaitData("settings-"+strconv.Itoa(i), map[string]string{"step": strconv.Itoa(changes - 1)})
		}
		if got := clouds.Minted(id); got != 1 {
			w.Errorf("tokens for %d Objects: want 1, got %d", objects, got)
		}
	})
}

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
			w.awaitData("settings", map[string]string{"step": strconv.Itoa(step)})
			proxy.Cut(0) // Watches begin again too.
			w.awaitReady(o)
		}
	})
}

// TestIdentityRotates shows that new credentials of an identity are used at once.
func TestIdentityRotates(t *testing.T) {
	forScopes(t, func(w world) {
		other := w.user + "-new"
		w.admit(other)
		w.connect(commonv1.IdentityGoogle, w.kubeconfig(""),
			clouds.GoogleServiceAccount(w, w.user, cloud.Principal{User: w.user}))
		o := w.keep("settings", "color", "blue")
		w.setIdentity(clouds.GoogleServiceAccount(w, other, cloud.Principal{User: other}))
		audit := target.Audit(w)
		kube.Eventually(w, "a watch by the new user", func() (bool, string) {
			return len(audit.Watches(kube.Mark{}).By(other)) > 0, "none"
		})
		mark := audit.Mark()
		w.set(o, "settings", "color", "red")
		w.awaitData("settings", map[string]string{"color": "red"})
		if got := audit.Since(mark).By(w.user); len(got) > 0 {
			w.Errorf("requests by the old user:\n%s", got)
		}
	})
}

// TestRefusedIdentityHeals shows that what is wrong with an identity is said without its secret, harms nobody else, and
// is over when the credentials are replaced.
func TestRefusedIdentityHeals(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		identity commonv1.IdentityType
		plugin   string
		good     func(testing.TB, string, cloud.Principal) []byte
		bad      []byte
		want     string
	}{
		"AzureSecret": {
			reason: "A refusal is said by its code.", identity: commonv1.IdentityAzureServicePrincipal,
			plugin: azurePlugin, good: azureSecret,
			bad:  []byte(`{"clientId":"nobody","clientSecret":"hunter2-hunter2","tenantId":"tenant"}`),
			want: "the token endpoint answers 401 Unauthorized, invalid_client",
		},
		"AzureGarbage": {
			reason: "Garbage is not repeated.", identity: commonv1.IdentityAzureServicePrincipal, plugin: azurePlugin,
			good: azureSecret,
			bad:  []byte(`{"clientSecret": hunter2`), want: "Azure credentials are not a JSON object",
		},
		"AzureEmpty": {
			reason: "What is missing is named.", identity: commonv1.IdentityAzureServicePrincipal, plugin: azurePlugin,
			good: azureSecret,
			bad:  []byte(`{"clientSecret":"hunter2"}`), want: "need clientId and tenantId",
		},
		"AzureWithoutPlugin": {
			reason:   "The kubeconfig says for which server a token is.",
			identity: commonv1.IdentityAzureServicePrincipal, good: nil,
			bad:  []byte(`{"clientId":"a","clientSecret":"hunter2","tenantId":"tenant"}`),
			want: "users[].user.exec.args is missing",
		},
		"GoogleKey": {
			reason: "A key that is none is not repeated.", identity: commonv1.IdentityGoogle, good: clouds.GoogleServiceAccount,
			bad: []byte(`{"type":"service_account","client_email":"a","private_key":"hunter2",` +
				`"token_uri":"https://oauth2.googleapis.com/token"}`), want: "give no token",
		},
		"GoogleUnknown": {
			reason: "So are unknown credentials.", identity: commonv1.IdentityGoogle, good: clouds.GoogleServiceAccount,
			bad: []byte(`{"type":"hunter2"}`), want: "Google credentials are of an unknown type",
		},
		"GoogleGarbage": {
			reason: "So is text that is no token.", identity: commonv1.IdentityGoogle, good: clouds.GoogleServiceAccount,
			bad: []byte("hunter2 with spaces"), want: "neither JSON nor an access token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(w world) {
				w.connect(tc.identity, w.kubeconfig(tc.plugin), tc.bad)
				o := w.object("settings", "color", "blue")
				kube.Create(w, w.c, o)
				w.Log(tc.reason)
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

// TestTokenEndpointComesBack shows that an identity whose cloud does not answer is asked again, and that its Objects go
// on by themselves.
func TestTokenEndpointComesBack(t *testing.T) {
	forScopes(t, func(w world) {
		clouds.SetDown(true)
		w.Cleanup(func() { clouds.SetDown(false) })
		w.connect(commonv1.IdentityGoogle, w.kubeconfig(""),
			clouds.GoogleServiceAccount(w, w.user, cloud.Principal{User: w.user}))
		o := w.object("settings", "color", "blue")
		kube.Create(w, w.c, o)
		w.awaitInvalid(o, "cannot reach the token endpoint")
		clouds.SetDown(false)
		w.awaitReady(o)
	})
}

// TestTenantMayNotUseTheProvidersFiles shows that an identity which names a file or the surroundings of the provider is
// not for tenants, not even while an operator has a connection by the very same credentials. They hold no secret:
// anybody can write them down.
func TestTenantMayNotUseTheProvidersFiles(t *testing.T) {
	operator, tenant := newWorld(t, build.Cluster()), newWorld(t, build.Namespaced())
	content := clouds.AzureWorkload(t, operator.user, cloud.Principal{User: operator.user})
	kubeconfig := operator.kubeconfig(azurePlugin)
	operator.connect(commonv1.IdentityAzureWorkload, kubeconfig, content)
	operator.keep("settings", "color", "blue")

	tenant.connect(commonv1.IdentityAzureWorkload, kubeconfig, content)
	thief := tenant.object("settings", "color", "red")
	kube.Create(t, tenant.c, thief)
	tenant.awaitInvalid(thief, "a namespaced ProviderConfig may not")
	tenant.setIdentity([]byte(`{"type":"external_account","credential_source":{"file":"/etc/passwd"}}`))
	kube.Holds(t, "the tenant has no connection", func() (bool, string) {
		err := tenant.c.Get(t.Context(), client.ObjectKeyFromObject(thief), thief)
		synced := thief.GetCondition(xpv2.TypeSynced)
		return err == nil && synced.Reason == commonv1.ReasonInvalidConnection, string(synced.Reason)
	}, func() {
		tenant.set(thief, "settings", "color", "of "+thief.GetResourceVersion())
		kube.Await(t, tenant.c, thief, "a look at the change", func() (bool, string) {
			got := thief.GetCondition(xpv2.TypeSynced).ObservedGeneration
			return got == thief.GetGeneration(), strconv.FormatInt(got, 10)
		})
	})
}
