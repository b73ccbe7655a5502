package local

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestKubeconfig(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		write(t, path, name, 0o600)
		return path
	}
	type want struct {
		cfg *rest.Config
		err bool
	}
	cases := map[string]struct {
		reason string
		cfg    *rest.Config
		want   want
	}{
		"Inlined": {
			reason: "The path of the server, which names a workspace, and all credentials are kept.",
			cfg: &rest.Config{
				Host: "https://127.0.0.1:1/clusters/root:org", BearerToken: "token",
				TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "name"},
			},
			want: want{cfg: &rest.Config{
				Host: "https://127.0.0.1:1/clusters/root:org", BearerToken: "token",
				TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "name"},
			}},
		},
		"Files": {
			reason: "Whoever gets the kubeconfig need not have our files.",
			cfg: &rest.Config{
				Host:            "https://127.0.0.1:1/",
				TLSClientConfig: rest.TLSClientConfig{CAFile: file("ca"), CertFile: file("cert"), KeyFile: file("key")},
			},
			want: want{cfg: &rest.Config{
				Host:            "https://127.0.0.1:1",
				TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")},
			}},
		},
		"TokenFile": {
			reason: "A token is one more thing that may be in a file.",
			cfg:    &rest.Config{Host: "https://127.0.0.1:1", BearerTokenFile: file("token")},
			want:   want{cfg: &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "token"}},
		},
		"NoFile": {
			reason: "A certificate that is not there cannot be left out.",
			cfg:    &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "none")}},
			want:   want{err: true},
		},
		"Plugin": {
			reason: "Credentials that a program makes are not self-contained.",
			cfg:    &rest.Config{Host: "https://127.0.0.1:1", ExecProvider: &clientcmdapi.ExecConfig{Command: "login"}},
			want:   want{err: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b, err := Kubeconfig(tc.cfg)
			if (err != nil) != tc.want.err {
				t.Fatalf("%s\nKubeconfig: want error %t, got %v", tc.reason, tc.want.err, err)
			}
			if tc.want.err {
				return
			}
			got, err := clientcmd.RESTConfigFromKubeConfig(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want.cfg, got); diff != "" {
				t.Errorf("%s\nKubeconfig: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
