package clusters

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
)

// kubeconfigOf returns a kubeconfig whose cluster and user have the given fields, in YAML flow style.
func kubeconfigOf(cluster, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {%s}}]
users: [{name: u, user: {%s}}]
`, cluster, user)
}

// restConfig returns the REST configuration of a kubeconfig that comes from no file.
func restConfig(content []byte, t trust) (*rest.Config, error) {
	k, err := parseKubeconfig(content, "")
	if err != nil {
		return nil, err
	}
	return k.config(t)
}

func TestRESTConfig(t *testing.T) {
	const (
		server = `server: "https://127.0.0.1:6443"`
		plugin = `exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}`
		head   = "apiVersion: v1\nkind: Config\n"
	)
	of := kubeconfigOf
	for name, tc := range map[string]struct {
		reason     string
		kubeconfig []byte
		trust      trust
		err        string // part of the message; empty if it is a connection
	}{
		"Token":        {"A server and a token make a connection.", of(server, `token: t`), trust{}, ""},
		"NoUser":       {"A user without credentials is anonymous.", of(server, ``), trust{}, ""},
		"Empty":        {"Nothing is no kubeconfig.", nil, trust{}, "kubeconfig is empty"},
		"NotYAML":      {"Garbage is refused and not repeated.", []byte("{{{ hunter2"), trust{}, "cannot parse kubeconfig"},
		"OtherKind":    {"Others are refused.", []byte("apiVersion: v1\nkind: Pod\n"), trust{}, "cannot parse kubeconfig"},
		"NoContext":    {"The current context must be named.", []byte(head), trust{}, "no current-context"},
		"NoServer":     {"The cluster needs a server.", of(``, `token: t`), trust{}, `no cluster "c" with a server`},
		"ExecAllowed":  {"A plugin runs where the operator allows it.", of(server, plugin), trust{exec: true}, ""},
		"Exec":         {"Else it is refused.", of(server, plugin), trust{}, "users[].user.exec is not allowed"},
		"AuthProvider": {"So is another.", of(server, `auth-provider: {name: gcp}`), trust{}, "auth-provider is not allowed"},
		"TokenFile":    {"No file is read.", of(server, `tokenFile: /etc/passwd`), trust{}, "user.tokenFile is not allowed"},
		"ClientCert":   {"Nor this.", of(server, `client-certificate: /a`), trust{}, "client-certificate is not allowed"},
		"ClientKey":    {"Nor this.", of(server, `client-key: /a`), trust{}, "user.client-key is not allowed"},
		"CA": {
			"Nor this.", of(server+`, certificate-authority: /a`, ``),
			trust{},
			"clusters[].cluster.certificate-authority is not allowed",
		},
		"NotHTTP":  {"A server is one of HTTP.", of(`server: "ftp://127.0.0.1"`, ``), trust{}, "cluster.server is not"},
		"NotProxy": {"A proxy has an address.", of(server+`, proxy-url: "hunter2"`, ``), trust{}, "cluster.proxy-url is not"},
		"OddToken": {"No header can hold it.", of(server, `token: "hunter2\nx"`), trust{}, "users[].user.token has"},
		"OddName":  {"Nor this.", of(server, `as: "hunter2\nx"`), trust{}, "users[].user.as has"},
		"OddGroup": {"Nor this.", of(server, `as: x, as-groups: ["hunter2\nx"]`), trust{}, "users[].user.as has"},
		// A defect of provider-kubernetes: it dereferences nil.
		"WrongContext": {"The current context must exist.", []byte(head + "current-context: x\n"), trust{}, `no context "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := restConfig(tc.kubeconfig, tc.trust)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s\nwant an error that contains %q, got %v", tc.reason, tc.err, err)
				}
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("%s\nthe error repeats the kubeconfig: %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s\nunexpected error: %v", tc.reason, err)
			}
			if diff := cmp.Diff("https://127.0.0.1:6443", cfg.Host); diff != "" {
				t.Errorf("%s\nhost: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInWorkspace(t *testing.T) {
	const at, replaced = "https://kcp.example.org", "https://kcp.example.org/clusters/root:b"
	for name, tc := range map[string]struct{ reason, host, workspace, want string }{
		"Bare":     {"A server gets the path of the workspace.", at + ":6443", "root:org", at + ":6443/clusters/root:org"},
		"Slash":    {"A trailing slash is not doubled.", at + "/", "root", at + "/clusters/root"},
		"Replaces": {"A workspace that is named already is replaced.", at + "/clusters/root:a", "root:b", replaced},
		"NoScheme": {"A scheme is not needed.", "example.org:6443", "root:b", "http://example.org:6443/clusters/root:b"},
		"Prefix":   {"A path before it is kept.", at + "/kcp/clusters/root", "root:b", at + "/kcp/clusters/root:b"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &rest.Config{Host: tc.host}
			if err := inWorkspace(cfg, tc.workspace); err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, cfg.Host); diff != "" {
				t.Errorf("%s\nhost: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

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
