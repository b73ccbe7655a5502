package e2e_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNoSecretIsLogged shows that the log holds nothing of credentials, used or refused, at the highest verbosity.
func TestNoSecretIsLogged(t *testing.T) {
	c, _ := clients(t)
	p := start(t, "--debug")
	good := newFleet(t, c, len(build.Scopes()))
	good.settle(t, c)
	admin := target.User(t, user, admins)
	secrets := []string{
		string(admin.KeyData), base64.StdEncoding.EncodeToString(admin.KeyData), "hunter2-token", "hunter2-access",
	}

	anonymous := rest.AnonymousClientConfig(target.Config())
	bad := rest.CopyConfig(anonymous)
	bad.BearerToken = "hunter2-token"
	key := googleKey(t)
	for _, s := range build.Scopes() {
		ns := local.Namespace(t)
		withIdentity := build.FromSecret(ns, "anonymous")
		withIdentity.Identity = &commonv1.Identity{
			Type: commonv1.IdentityGoogle, ProviderCredentials: build.FromSecret(ns, "identity").Credentials,
		}
		kube.Create(t, c,
			build.Credentials(ns, "token", kube.Kubeconfig(t, bad)), build.Credentials(ns, "anonymous",
				kube.Kubeconfig(t, anonymous)),
			build.Credentials(ns, "identity", key), build.Credentials(ns, "garbage", []byte("{{{ hunter2-token")),
			s.Config(ns, ns+"-token", build.FromSecret(ns, "token")), s.Config(ns, ns+"-garbage",
				build.FromSecret(ns, "garbage")),
			s.Config(ns, ns+"-identity", withIdentity),
		)
		for config, want := range map[string]xpv2.ConditionReason{
			"-token": commonv1.ReasonUnauthorized, "-garbage": commonv1.ReasonInvalidConnection,
			"-identity": commonv1.ReasonUnauthorized,
		} {
			o := s.Object(ns, ns+config, ns+config, build.ConfigMap(good.namespace, "settings"))
			kube.Create(t, c, o)
			awaitReason(t, c, o, want)
		}
	}
	log := p.Log()
	if !strings.Contains(log, "Reconciling") {
		t.Errorf("log: it must hold what the provider does, got\n%s", log)
	}
	for line := range strings.SplitSeq(string(key), `\n`) {
		if len(line) >= keyLine {
			secrets = append(secrets, line)
		}
	}
	for _, s := range secrets {
		if i := strings.Index(log, s); i >= 0 {
			t.Errorf("the log holds a secret: …%s…", log[max(0, i-200):min(len(log), i+len(s))])
		}
	}
}

// keyLine is how long a line of PEM is that holds a part of a key.
const keyLine = 64

// googleKey returns the credentials of a service account whose token endpoint gives it a token that no cluster knows.
func googleKey(t *testing.T) []byte {
	t.Helper()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"hunter2-access","token_type":"Bearer","expires_in":3600}`))
	}))
	t.Cleanup(endpoint.Close)
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "robot", "token_uri": endpoint.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{
			Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k),
		})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// awaitReason waits until condition Synced of an Object has a reason.
func awaitReason(t *testing.T, c client.Client, o build.Object, want xpv2.ConditionReason) {
	t.Helper()
	kube.Await(t, c, o, "Object "+o.GetName()+" to be "+string(want), func() (bool, string) {
		synced := o.GetCondition(xpv2.TypeSynced)
		return synced.Reason == want, string(synced.Reason) + ": " + synced.Message
	})
}

// TestFlagsTrustTenants shows that an operator may let tenants use what is not theirs.
func TestFlagsTrustTenants(t *testing.T) {
	c, _ := clients(t)
	start(t, "--allow-cross-namespace-references", "--allow-namespaced-provider-credentials")
	s := build.Namespaced()
	foreign, tns := credentials(t, c), target.Namespace(t)
	for name, tc := range map[string]struct {
		reason    string
		spec      commonv1.ProviderConfigSpec
		namespace string // on the target
	}{
		"ForeignSecret": {
			reason: "A Secret of another namespace is used.", namespace: tns, spec: build.FromSecret(foreign, foreign),
		},
		"InjectedIdentity": {
			reason: "The provider's own rights are used.", namespace: foreign, spec: commonv1.ProviderConfigSpec{
				Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := local.Namespace(t)
			o := s.Object(ns, ns, ns, build.ConfigMap(tc.namespace, "settings"))
			kube.Create(t, c, s.Config(ns, ns, tc.spec), o)
			awaitReady(t, c, o)
		})
	}
}

// TestFlagRunsPlugins shows that an operator may let kubeconfigs of Secrets run credential plugins.
func TestFlagRunsPlugins(t *testing.T) {
	c, _ := clients(t)
	start(t, "--allow-kubeconfig-exec")
	admin := target.User(t, user, admins)
	credential, err := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
		"status": map[string]string{
			"clientCertificateData": string(admin.CertData), "clientKeyData": string(admin.KeyData),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "credential.json")
	if err := os.WriteFile(path, credential, 0o600); err != nil {
		t.Fatal(err)
	}
	plugin := "user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: cat, args: [" + path +
		"], interactiveMode: Never}}"
	kubeconfig := strings.Replace(string(kube.Kubeconfig(t, rest.AnonymousClientConfig(target.Config()))), "user: {}",
		plugin, 1)
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			ns, tns := local.Namespace(t), target.Namespace(t)
			o := s.Object(ns, ns, ns, build.ConfigMap(tns, "settings"))
			kube.Create(t, c, build.Credentials(ns, "plugin", []byte(kubeconfig)),
				s.Config(ns, ns, build.FromSecret(ns, "plugin")), o)
			awaitReady(t, c, o)
		})
	}
}
