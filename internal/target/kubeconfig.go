package target

import (
	"path"
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

// restConfig returns the REST configuration of the current context of a kubeconfig. No error repeats the content of the kubeconfig,
// which the YAML parser would.
func restConfig(kubeconfig []byte, t trust) (*rest.Config, error) {
	if len(kubeconfig) == 0 {
		return nil, errors.New("kubeconfig is empty")
	}
	api, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, errors.New("cannot parse kubeconfig: it is not YAML of kind Config")
	}
	if err := check(api, t); err != nil {
		return nil, err
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*api, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("cannot use kubeconfig: its current context has no usable cluster or user")
	}
	return cfg, nil
}

// check returns an error that names what is missing from, or not allowed in, the current context.
func check(api *clientcmdapi.Config, t trust) error {
	if api.CurrentContext == "" {
		return errors.New("kubeconfig has no current-context")
	}
	c, ok := api.Contexts[api.CurrentContext]
	if !ok || c == nil {
		return errors.Errorf("kubeconfig has no context %q, which is its current-context", api.CurrentContext)
	}
	cluster, ok := api.Clusters[c.Cluster]
	if !ok || cluster == nil || cluster.Server == "" {
		return errors.Errorf("kubeconfig has no cluster %q with a server, which context %q names", c.Cluster, api.CurrentContext)
	}
	user := api.AuthInfos[c.AuthInfo]
	if user == nil {
		user = &clientcmdapi.AuthInfo{}
	}
	if !t.exec {
		if err := checkPlugins(user); err != nil {
			return err
		}
	}
	if !t.files {
		return checkFiles(cluster, user)
	}
	return nil
}

func checkPlugins(user *clientcmdapi.AuthInfo) error {
	if user.Exec != nil {
		return errors.New("kubeconfig field users[].user.exec is not allowed in a Secret: it would run a program in the provider")
	}
	if user.AuthProvider != nil {
		return errors.New("kubeconfig field users[].user.auth-provider is not allowed in a Secret: it would run code in the provider")
	}
	return nil
}

func checkFiles(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	for _, f := range []struct{ field, value string }{
		{"clusters[].cluster.certificate-authority", cluster.CertificateAuthority},
		{"users[].user.client-certificate", user.ClientCertificate},
		{"users[].user.client-key", user.ClientKey},
		{"users[].user.tokenFile", user.TokenFile},
	} {
		if f.value != "" {
			return errors.Errorf("kubeconfig field %s is not allowed in a Secret: it would read a file of the provider", f.field)
		}
	}
	return nil
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
