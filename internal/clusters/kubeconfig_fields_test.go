package clusters

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
)

// TestKubeconfigFields shows that the fields a kubeconfig may have arrive.
func TestKubeconfigFields(t *testing.T) {
	const server = `server: "https://127.0.0.1:6443"`
	for name, tc := range map[string]struct {
		reason     string
		kubeconfig []byte
		want       rest.Config
		proxy      string // empty for none
	}{
		"Password": {
			reason:     "A user may have a name and a password.",
			kubeconfig: kubeconfigOf(server, `username: u, password: p`),
			want:       rest.Config{Host: "https://127.0.0.1:6443", Username: "u", Password: "p"},
		},
		"Impersonation": {
			reason: "A user may act as another one, with groups and more.",
			kubeconfig: kubeconfigOf(server,
				`token: t, as: jane, as-uid: "7", as-groups: [a, b], as-user-extra: {team: [x]}`),
			want: rest.Config{Host: "https://127.0.0.1:6443", BearerToken: "t", Impersonate: rest.ImpersonationConfig{
				UserName: "jane", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"team": {"x"}},
			}},
		},
		"TLS": {
			reason: "Certificates are in the kubeconfig, and the server may be known by another name.",
			kubeconfig: kubeconfigOf(server+`, tls-server-name: example.org, certificate-authority-data: Y2E=`,
				`client-certificate-data: Y2VydA==, client-key-data: a2V5`),
			want: rest.Config{Host: "https://127.0.0.1:6443", TLSClientConfig: rest.TLSClientConfig{
				ServerName: "example.org", CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key"),
			}},
		},
		"Proxy": {
			reason:     "A server may be behind a proxy.",
			kubeconfig: kubeconfigOf(server+`, proxy-url: "socks5://127.0.0.1:1080"`, ``),
			want:       rest.Config{Host: "https://127.0.0.1:6443"},
			proxy:      "socks5://127.0.0.1:1080",
		},
		"Insecure": {
			reason:     "A server need not be verified.",
			kubeconfig: kubeconfigOf(server+`, insecure-skip-tls-verify: true`, ``),
			want: rest.Config{
				Host: "https://127.0.0.1:6443", TLSClientConfig: rest.TLSClientConfig{Insecure: true},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := restConfig(tc.kubeconfig, trust{})
			if err != nil {
				t.Fatalf("%s\nunexpected error: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, *got, cmpopts.IgnoreUnexported(rest.Config{}),
				cmpopts.IgnoreFields(rest.Config{}, "Proxy"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if got.Proxy == nil {
				got.Proxy = func(*http.Request) (*url.URL, error) { return &url.URL{}, nil }
			}
			if u, err := got.Proxy(nil); err != nil || u.String() != tc.proxy {
				t.Errorf("%s\nproxy: got %v, %v", tc.reason, u, err)
			}
		})
	}
}

// TestKubeconfigFiles shows that the files which a kubeconfig names are used, by paths below its own folder.
// A defect of provider-kubernetes: it ignores those of certificates and keys.
func TestKubeconfigFiles(t *testing.T) {
	dir := t.TempDir()
	absolute := filepath.Join(t.TempDir(), "token")
	for path, content := range map[string]string{filepath.Join(dir, "ca.crt"): "ca", absolute: "secret"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := parseKubeconfig(kubeconfigOf(`server: "https://127.0.0.1:6443", certificate-authority: ca.crt`,
		`tokenFile: "`+absolute+`"`),
		filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := k.config(trust{files: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := rest.LoadTLSFiles(cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ca", absolute}, []string{string(cfg.CAData), cfg.BearerTokenFile}); diff != "" {
		t.Errorf("relative paths are below the folder of the kubeconfig: -want, +got:\n%s", diff)
	}
}
