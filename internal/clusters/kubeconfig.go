package clusters

import (
	"net/url"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A trust says what a kubeconfig may do to the machine it is used on.
type trust struct {
	exec  bool // run a credential plugin
	files bool // read files
}

// A kubeconfig is the current context of one: nothing else of it is used. Its zero value is none.
type kubeconfig struct {
	api         *clientcmdapi.Config
	clusterName string
	cluster     *clientcmdapi.Cluster
	user        *clientcmdapi.AuthInfo
}

// parseKubeconfig returns the current context of a kubeconfig. Paths in one that comes from a file are relative to that
// file; location is empty for any other. No error repeats the content of the kubeconfig, which the YAML parser would.
func parseKubeconfig(content []byte, location string) (kubeconfig, error) {
	if len(content) == 0 {
		return kubeconfig{}, errors.New("kubeconfig is empty")
	}
	api, err := clientcmd.Load(content)
	if err != nil {
		return kubeconfig{}, errors.New("cannot parse kubeconfig: it is not YAML of kind Config")
	}
	k, err := current(api)
	if err != nil || location == "" {
		return k, err
	}
	k.cluster.LocationOfOrigin, k.user.LocationOfOrigin = location, location
	return k, errors.Wrap(clientcmd.ResolveLocalPaths(k.api), "cannot find the files of the kubeconfig")
}

// current returns what the current context names. An error says what is missing.
func current(api *clientcmdapi.Config) (kubeconfig, error) {
	if api.CurrentContext == "" {
		return kubeconfig{}, errors.New("kubeconfig has no current-context")
	}
	c := api.Contexts[api.CurrentContext]
	if c == nil {
		return kubeconfig{}, errors.Errorf("kubeconfig has no context %q, which is its current-context",
			api.CurrentContext)
	}
	k := kubeconfig{
		api: api, clusterName: c.Cluster, cluster: api.Clusters[c.Cluster], user: api.AuthInfos[c.AuthInfo],
	}
	if k.cluster == nil || k.cluster.Server == "" {
		return k, errors.Errorf("kubeconfig has no cluster %q with a server: correct context %q", c.Cluster,
			api.CurrentContext)
	}
	if k.user == nil {
		k.user = clientcmdapi.NewAuthInfo() // Some targets need none, and an identity stands in for one.
		api.AuthInfos[c.AuthInfo] = k.user
	}
	return k, nil
}

// takePlugin takes the plugins out of a kubeconfig, as an identity stands in for them, and returns the one of kind
// exec. It is nil if there is none, or no kubeconfig. It is not to be run.
func (k kubeconfig) takePlugin() *clientcmdapi.ExecConfig {
	if k.user == nil {
		return nil
	}
	exec := k.user.Exec
	k.user.Exec, k.user.AuthProvider = nil, nil
	return exec
}

// RunPluginBy has a command, unless it is empty, run the credential plugin of a REST configuration. A plugin that is
// not there is left to client-go, which says so with the hint of the kubeconfig.
func RunPluginBy(command []string, cfg *rest.Config) {
	if p := cfg.ExecProvider; p != nil && len(command) > 0 {
		if path, err := exec.LookPath(p.Command); err == nil {
			p.Command, p.Args = command[0], slices.Concat(command[1:], []string{path}, p.Args)
		}
	}
}

// config returns the REST configuration of the kubeconfig, within the limits of trust.
func (k kubeconfig) config(t trust) (*rest.Config, error) {
	if err := k.check(t); err != nil {
		return nil, err
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*k.api, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("cannot use kubeconfig: its current context has no usable cluster or user")
	}
	server, _, err := rest.DefaultServerUrlFor(cfg) // The scheme is optional.
	if err != nil || server.Hostname() == "" || server.Scheme != "https" && server.Scheme != "http" {
		return nil, errors.New("kubeconfig field clusters[].cluster.server is not the address of an HTTP server")
	}
	return cfg, nil
}

// check returns an error that names the field which is not usable, or not allowed.
func (k kubeconfig) check(t trust) error {
	const (
		program = "it would run a program in the provider: set spec.identity, or use a token"
		file    = "it would read a file of the provider: write the content of the file into the kubeconfig"
	)
	for _, f := range []struct {
		field    string
		set, may bool
		would    string
	}{
		{"users[].user.exec", k.user.Exec != nil, t.exec, program},
		{"users[].user.auth-provider", k.user.AuthProvider != nil, t.exec, program},
		{"clusters[].cluster.certificate-authority", k.cluster.CertificateAuthority != "", t.files, file},
		{"users[].user.client-certificate", k.user.ClientCertificate != "", t.files, file},
		{"users[].user.client-key", k.user.ClientKey != "", t.files, file},
		{"users[].user.tokenFile", k.user.TokenFile != "", t.files, file},
	} {
		if f.set && !f.may {
			return errors.Errorf("kubeconfig field %s is not allowed in a Secret: %s", f.field, f.would)
		}
	}
	proxy, err := url.Parse(k.cluster.ProxyURL)
	if k.cluster.ProxyURL != "" && (err != nil || proxy.Hostname() == "" ||
		!slices.Contains([]string{"http", "https", "socks5"}, proxy.Scheme)) {
		return errors.New("kubeconfig field clusters[].cluster.proxy-url is not the address of an HTTP or SOCKS5 proxy")
	}
	if !sendable(k.user.Token) { // Each request would fail of it.
		return errors.New("kubeconfig field users[].user.token has characters that are not allowed in a token, such as a " +
			"line break")
	}
	return checkImpersonation("kubeconfig field users[].user.as",
		append([]string{k.user.Impersonate, k.user.ImpersonateUID}, k.user.ImpersonateGroups...))
}

// checkImpersonation finds a name that cannot be sent in a header.
func checkImpersonation(field string, names []string) error {
	if slices.ContainsFunc(names, func(n string) bool { return !sendable(n) }) {
		return errors.Errorf("%s has characters that are not allowed in a name", field)
	}
	return nil
}

// sendable reports whether a text can be sent in a header of HTTP.
func sendable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// inWorkspace points a REST configuration at a workspace of kcp. A workspace that the host names already is replaced.
func inWorkspace(cfg *rest.Config, workspacePath string) error {
	u, _, err := rest.DefaultServerUrlFor(cfg) // The scheme is optional.
	if err != nil {
		return errors.New("cannot parse the server of the kubeconfig")
	}
	base := u.Path
	if i := strings.Index(base+"/", "/clusters/"); i >= 0 {
		base = base[:i]
	}
	u.Path = path.Join("/", base, "clusters", workspacePath)
	cfg.Host = u.String()
	return nil
}
