package clusters

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	const server = `server: "https://127.0.0.1:6443"`
	for name, tc := range map[string]struct {
		reason     string
		kubeconfig []byte
		trust      trust
		host       string
		err        string // part of the message
	}{
		"Token": {
			reason:     "A server and a token make a connection.",
			kubeconfig: kubeconfigOf(server, `token: t`),
			host:       "https://127.0.0.1:6443",
		},
		"NoUser": {
			reason:     "A user without credentials is anonymous.",
			kubeconfig: kubeconfigOf(server, ``),
			host:       "https://127.0.0.1:6443",
		},
		"Empty": {reason: "Nothing is no kubeconfig.", err: "kubeconfig is empty"},
		"NotYAML": {
			reason:     "Garbage is refused and not repeated.",
			kubeconfig: []byte("{{{ hunter2"),
			err:        "cannot parse kubeconfig",
		},
		"OtherKind": {
			reason:     "Any other object is refused.",
			kubeconfig: []byte("apiVersion: v1\nkind: Pod\n"),
			err:        "cannot parse kubeconfig",
		},
		"NoContext": {
			reason:     "The current context must be named.",
			kubeconfig: []byte("apiVersion: v1\nkind: Config\n"),
			err:        "no current-context",
		},
		// A defect of provider-kubernetes: it dereferences nil.
		"WrongContext": {
			reason:     "The current context must exist.",
			kubeconfig: []byte("apiVersion: v1\nkind: Config\ncurrent-context: x\n"),
			err:        `no context "x"`,
		},
		"NoServer": {
			reason:     "The cluster needs a server.",
			kubeconfig: kubeconfigOf(``, `token: t`),
			err:        `no cluster "c" with a server`,
		},
		"Exec": {
			reason: "A plugin is refused.",
			kubeconfig: kubeconfigOf(server,
				`exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}`),
			err: "users[].user.exec is not allowed",
		},
		"ExecAllowed": {
			reason: "A plugin runs where the operator allows it.",
			kubeconfig: kubeconfigOf(server,
				`exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}`),
			trust: trust{exec: true}, host: "https://127.0.0.1:6443",
		},
		"AuthProvider": {
			reason:     "An auth provider is refused.",
			kubeconfig: kubeconfigOf(server, `auth-provider: {name: gcp}`),
			err:        "users[].user.auth-provider is not allowed",
		},
		"TokenFile": {
			reason:     "A token file is refused.",
			kubeconfig: kubeconfigOf(server, `tokenFile: /etc/passwd`),
			err:        "users[].user.tokenFile is not allowed",
		},
		"ClientCert": {
			reason:     "A certificate file is refused.",
			kubeconfig: kubeconfigOf(server, `client-certificate: /a`),
			err:        "users[].user.client-certificate is not allowed",
		},
		"ClientKey": {
			reason:     "A key file is refused.",
			kubeconfig: kubeconfigOf(server, `client-key: /a`),
			err:        "users[].user.client-key is not allowed",
		},
		"NotHTTP": {
			reason:     "A server is one of HTTP.",
			kubeconfig: kubeconfigOf(`server: "ftp://127.0.0.1"`, ``),
			err:        "clusters[].cluster.server is not",
		},
		"NotProxy": {
			reason:     "A proxy has an address.",
			kubeconfig: kubeconfigOf(server+`, proxy-url: "hunter2"`, ``),
			err:        "clusters[].cluster.proxy-url is not",
		},
		"OddToken": {
			reason:     "A token that no header can hold is refused.",
			kubeconfig: kubeconfigOf(server, `token: "hunter2\nx"`),
			err:        "users[].user.token has",
		},
		"OddName": {
			reason:     "A name that no header can hold is refused.",
			kubeconfig: kubeconfigOf(server, `as: "hunter2\nx"`),
			err:        "users[].user.as has",
		},
		"OddGroup": {
			reason:     "A group that no header can hold is refused.",
			kubeconfig: kubeconfigOf(server, `as: x, as-groups: ["hunter2\nx"]`),
			err:        "users[].user.as has",
		},
		"CA": {
			reason:     "A CA file is refused.",
			kubeconfig: kubeconfigOf(server+`, certificate-authority: /a`, ``),
			err:        "clusters[].cluster.certificate-authority is not allowed",
		},
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
			if diff := cmp.Diff(tc.host, cfg.Host); diff != "" {
				t.Errorf("%s\nhost: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInWorkspace(t *testing.T) {
	for name, tc := range map[string]struct{ reason, host, workspace, want string }{
		"Bare": {
			reason:    "A server gets the path of the workspace.",
			host:      "https://kcp.example.org:6443",
			workspace: "root:org",
			want:      "https://kcp.example.org:6443/clusters/root:org",
		},
		"Slash": {
			reason:    "A trailing slash is not doubled.",
			host:      "https://kcp.example.org/",
			workspace: "root",
			want:      "https://kcp.example.org/clusters/root",
		},
		"Replaces": {
			reason:    "A workspace that is named already is replaced.",
			host:      "https://kcp.example.org/clusters/root:a",
			workspace: "root:b",
			want:      "https://kcp.example.org/clusters/root:b",
		},
		"NoScheme": {
			reason:    "A server without a scheme is one too.",
			host:      "kcp.example.org:6443",
			workspace: "root:b",
			want:      "http://kcp.example.org:6443/clusters/root:b",
		},
		"Prefix": {
			reason:    "A path before the workspace is kept.",
			host:      "https://example.org/kcp/clusters/root",
			workspace: "root:b",
			want:      "https://example.org/kcp/clusters/root:b",
		},
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
