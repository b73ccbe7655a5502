package object_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestFilesystemKubeconfig shows that a kubeconfig of the provider's file system may name files, by paths below its own
// folder. A defect of provider-kubernetes: it ignores them.
func TestFilesystemKubeconfig(t *testing.T) {
	c := provide(t)
	s, tns, ns, dir := build.Cluster(), target.Namespace(t), local.Namespace(t), t.TempDir()
	cfg := targetUser(t)
	content := string(kube.Kubeconfig(t, cfg))
	for name, data := range map[string][]byte{
		"ca.crt": cfg.CAData, "client.crt": cfg.CertData, "client.key": cfg.KeyData,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for field, file := range map[string]string{
		"certificate-authority": "ca.crt", "client-certificate": "client.crt", "client-key": "client.key",
	} {
		lines := strings.Split(content, "\n")
		for i, l := range lines {
			if indent, _, ok := strings.Cut(l, field+"-data: "); ok {
				lines[i] = indent + field + ": " + file
			}
		}
		content = strings.Join(lines, "\n")
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := commonv1.ProviderConfigSpec{Credentials: commonv1.ProviderCredentials{
		Source:                    xpv2.CredentialsSourceFilesystem,
		CommonCredentialSelectors: xpv2.CommonCredentialSelectors{Fs: &xpv2.FsSelector{Path: path}},
	}}
	kube.Create(t, c, s.Config(ns, ns, spec))
	o := s.Object(ns, tns, ns, build.ConfigMap(tns, "settings"))
	createReady(t, c, o)
}

// TestKubeconfigsInSecretsReadNoFiles shows that a kubeconfig from a Secret neither runs a program nor sends a file of
// the provider to a server of its author's choice. provider-kubernetes does both for anyone who writes a namespaced
// ProviderConfig.
func TestKubeconfigsInSecretsReadNoFiles(t *testing.T) {
	c := provide(t)
	for name, tc := range map[string]struct{ reason, cluster, user, want string }{
		"Exec": {
			reason: "A program is not run.",
			user:   `exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, interactiveMode: Never}`,
			want:   "users[].user.exec",
		},
		"AuthProvider": {
			reason: "A plugin is not run.",
			user:   `auth-provider: {name: gcp}`,
			want:   "users[].user.auth-provider",
		},
		"TokenFile": {
			reason: "A token is not read.",
			user:   `tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`,
			want:   "users[].user.tokenFile",
		},
		"Certificate": {
			reason: "A certificate is not read.",
			user:   `client-certificate: /etc/passwd`,
			want:   "users[].user.client-certificate",
		},
		"Key": {
			reason: "A key is not read.",
			user:   `client-key: /etc/passwd`,
			want:   "users[].user.client-key",
		},
		"Authority": {
			reason:  "An authority is not read.",
			cluster: `, certificate-authority: /etc/passwd`,
			want:    "clusters[].cluster.certificate-authority",
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				ns, pc := connectWith(t, c, s, []byte(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"`+tc.cluster+`}}]
users: [{name: u, user: {`+tc.user+`}}]
`))
				o := s.Object(ns, ns, pc, build.ConfigMap(ns, "settings"))
				kube.Create(t, c, o)
				awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection), tc.want+" is not allowed")
			})
		})
	}
}
