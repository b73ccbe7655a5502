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
		ofIdentity := commonv1.ReasonUnauthorized
		if s.Name == build.Namespaced().Name { // Whose keys may name no token endpoint but Google's.
			ofIdentity = commonv1.ReasonInvalidConnection
		}
		for config, want := range map[string]xpv2.ConditionReason{
			"-token": commonv1.ReasonUnauthorized, "-garbage": commonv1.ReasonInvalidConnection, "-identity": ofIdentity,
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
