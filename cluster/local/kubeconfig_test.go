package local

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// host is of a server that no test asks.
const host = "https://127.0.0.1:1"

func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		write(t, path, name, 0o600)
		return path
	}
	inlined := &rest.Config{
		Host: host + "/clusters/root:org", BearerToken: "token",
		Impersonate:     rest.ImpersonationConfig{UserName: "someone", Groups: []string{"some"}},
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "name"},
	}
	files := rest.TLSClientConfig{CAFile: file("ca"), CertFile: file("cert"), KeyFile: file("key")}
	data := rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")}
	cases := map[string]struct {
		reason    string
		cfg, want *rest.Config
	}{
		"Inlined": {
			reason: "The path of the server, which names a workspace, and all credentials are kept.",
			cfg:    inlined,
			want:   inlined,
		},
		"Files": {
			reason: "A user of the kubeconfig need not have our files.",
			cfg:    &rest.Config{Host: host + "/", TLSClientConfig: files},
			want:   &rest.Config{Host: host, TLSClientConfig: data},
		},
		"TokenFile": {
			reason: "A token is one more thing that may be in a file.",
			cfg:    &rest.Config{Host: host, BearerTokenFile: file("token")},
			want:   &rest.Config{Host: host, BearerToken: "token"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, err := Kubeconfig(tc.cfg)
			if err != nil {
				t.Fatalf("%s\nKubeconfig: %v", tc.reason, err)
			}
			got, err := clientcmd.RESTConfigFromKubeConfig(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\nKubeconfig: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestKubeconfigFails(t *testing.T) {
	plugin := &clientcmdapi.ExecConfig{Command: "login"}
	none := filepath.Join(t.TempDir(), "none")
	cases := map[string]struct {
		reason string
		cfg    *rest.Config
	}{
		"NoCertificate": {
			reason: "A certificate cannot be left out.",
			cfg:    &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAFile: none}},
		},
		"NoToken": {reason: "Nor can a token.", cfg: &rest.Config{Host: host, BearerTokenFile: none}},
		"Plugin": {
			reason: "What a program makes is not self-contained.",
			cfg:    &rest.Config{Host: host, ExecProvider: plugin},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Kubeconfig(tc.cfg); err == nil {
				t.Errorf("%s\nKubeconfig: want an error", tc.reason)
			}
		})
	}
}
