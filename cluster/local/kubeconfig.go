package local

import (
	"os"
	"strings"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns a kubeconfig with the server, path included, and the credentials of cfg. It refers to no file:
// certificates and the token that cfg names by file are read. Credentials that a plugin provides cannot be written down
// and are an error.
func Kubeconfig(cfg *rest.Config) ([]byte, error) {
	if cfg.ExecProvider != nil || cfg.AuthProvider != nil {
		return nil, errors.New("cannot write credentials of a plugin to a kubeconfig")
	}
	cfg = rest.CopyConfig(cfg)
	if err := inline(cfg); err != nil {
		return nil, err
	}
	const name = "local"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   strings.TrimSuffix(cfg.Host, "/"),
		CertificateAuthorityData: cfg.CAData,
		InsecureSkipTLSVerify:    cfg.Insecure,
		TLSServerName:            cfg.ServerName,
	}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
		Token:                 cfg.BearerToken,
		Username:              cfg.Username,
		Password:              cfg.Password,
		Impersonate:           cfg.Impersonate.UserName,
		ImpersonateUID:        cfg.Impersonate.UID,
		ImpersonateGroups:     cfg.Impersonate.Groups,
		ImpersonateUserExtra:  cfg.Impersonate.Extra,
	}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	b, err := clientcmd.Write(*out)
	return b, errors.Wrap(err, "cannot write kubeconfig")
}

// inline replaces the files that cfg names by what is in them.
func inline(cfg *rest.Config) error {
	if err := rest.LoadTLSFiles(cfg); err != nil {
		return errors.Wrap(err, "cannot read certificates")
	}
	if cfg.BearerTokenFile == "" {
		return nil
	}
	// As in client-go the file wins over the value.
	b, err := os.ReadFile(cfg.BearerTokenFile)
	cfg.BearerToken, cfg.BearerTokenFile = strings.TrimSpace(string(b)), ""
	return errors.Wrap(err, "cannot read token")
}
