package clusters

import (
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// FuzzKubeconfig shows that whatever a Secret holds is either refused, without being repeated, or a connection that
// runs no program and reads no file.
func FuzzKubeconfig(f *testing.F) {
	const server = `server: "https://127.0.0.1:6443"`
	for _, seed := range [][]byte{
		nil, []byte("{{{"), []byte("apiVersion: v1\nkind: Config\ncurrent-context: x\n"),
		kubeconfigOf(server, `token: hunter2hunter2`),
		kubeconfigOf(server+`, proxy-url: "http://127.0.0.1:3128", tls-server-name: x, insecure-skip-tls-verify: true`,
			`username: u, password: hunter2hunter2`),
		kubeconfigOf(server+`, certificate-authority-data: Y2E=`,
			`client-certificate-data: Y2U=, client-key-data: a2U=`),
		kubeconfigOf(server+`, certificate-authority: /a`, `tokenFile: /b, client-certificate: /c, client-key: /d`),
		kubeconfigOf(server,
			`exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [--server-id, y], interactiveMode: Never}`),
		kubeconfigOf(server, `auth-provider: {name: gcp, config: {access-token: hunter2hunter2}}`),
		kubeconfigOf(`server: "host:1/clusters/root:x"`,
			`as: jane, as-uid: "1", as-groups: [a], as-user-extra: {k: [v]}`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		k, err := parseKubeconfig(content, "")
		if err != nil {
			keepsSecrets(t, content, err)
			return
		}
		cfg, err := k.config(trust{})
		if err != nil {
			keepsSecrets(t, content, err)
			k.takePlugin()
			cfg, err = k.config(trust{})
		}
		if err != nil {
			keepsSecrets(t, content, err)
			return
		}
		if cfg.ExecProvider != nil || cfg.AuthProvider != nil {
			t.Error("it runs a program")
		}
		if cfg.BearerTokenFile+cfg.CAFile+cfg.CertFile+cfg.KeyFile != "" {
			t.Error("it reads a file")
		}
		if _, err := rest.TLSConfigFor(cfg); err != nil {
			keepsSecrets(t, content, err)
		}
		if err := inWorkspace(cfg, "root:x"); err != nil {
			t.Errorf("a server that was accepted has no workspace: %v", err)
		}
	})
}

// keepsSecrets checks that an error does not repeat the secrets of a kubeconfig. Those that are part of a name cannot
// be told from it.
func keepsSecrets(t *testing.T, content []byte, err error) {
	t.Helper()
	const telling = 8 // Shorter ones are in any text.
	api, lerr := clientcmd.Load(content)
	if lerr != nil {
		return
	}
	words := []string{ours, api.CurrentContext}
	for _, c := range api.Contexts {
		if c != nil {
			words = append(words, c.Cluster, c.AuthInfo)
		}
	}
	shown := strings.Join(words, " ")
	for _, u := range api.AuthInfos {
		if u == nil {
			continue
		}
		for _, secret := range []string{u.Token, u.Password, string(u.ClientKeyData)} {
			if len(secret) >= telling && strings.Contains(err.Error(), secret) && !strings.Contains(shown, secret) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		}
	}
}

// ours are words of our own errors, which a secret may happen to be.
const ours = "kubeconfig clusters[].cluster.certificate-authority users[].user.auth-provider " +
	"allowed provider current-context"
