package clusters

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthenticationv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/connrotation"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// pluginLife is how long credentials of a plugin are used if it does not say.
const pluginLife = time.Hour

// A plugin is the Source of a kubeconfig that names a credential plugin, which it runs as client-go does:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
// We rejected client-go's own: nothing ends a plugin that hangs, and each request waits for it.
type plugin struct {
	*clientcmdapi.ExecConfig

	info  []byte                          // what the plugin is told
	cert  atomic.Pointer[tls.Certificate] // what it has given, nil for none
	conns *connrotation.ConnectionTracker // made with the certificate
}

// newPlugin returns the plugin of a REST configuration.
func newPlugin(cfg *rest.Config) (p *plugin, err error) {
	p = &plugin{ExecConfig: cfg.ExecProvider, conns: connrotation.NewConnectionTracker()}
	// All versions of the API are the same JSON.
	told := clientauthenticationv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: p.APIVersion, Kind: "ExecCredential"},
	}
	if cluster, cerr := rest.ConfigToExecCluster(cfg); p.ProvideClusterInfo && cerr == nil {
		told.Spec.Cluster = &clientauthenticationv1.Cluster{}
		err = clientauthenticationv1.Convert_clientauthentication_Cluster_To_v1_Cluster(cluster, told.Spec.Cluster, nil)
	}
	if err == nil {
		p.info, err = json.Marshal(told)
	}
	return p, errors.Wrap(err, "cannot tell the credential plugin which cluster it is run for")
}

// takePlugin has the plugin of the REST configuration give tokens, unless there are other credentials.
func (a *access) takePlugin() (err error) {
	c := a.config
	if c.ExecProvider != nil && a.tokens == nil && c.BearerToken == "" && c.BearerTokenFile == "" && c.Username == "" &&
		c.CertFile == "" && len(c.CertData) == 0 {
		a.tokens, err = newPlugin(c)
	}
	c.ExecProvider = nil
	return err
}

// Token runs the plugin, until the context ends.
func (p *plugin) Token(ctx context.Context) (identity.Token, error) {
	cmd := exec.CommandContext(ctx, p.Command, p.Args...) //nolint:gosec // The operator allows it.
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+string(p.info))
	for _, e := range p.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // It may be a script that runs others.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.Output()
	given := clientauthenticationv1.ExecCredential{}
	switch {
	case ctx.Err() != nil:
		return identity.Token{}, errors.Errorf("credential plugin %q does not end within %s", p.Command, identity.Timeout)
	case err != nil:
		return identity.Token{}, errors.Wrapf(err, "cannot run credential plugin %q", p.Command)
	case json.Unmarshal(out, &given) != nil || given.Status == nil:
		return identity.Token{}, errors.Errorf("credential plugin %q prints no ExecCredential with a status", p.Command)
	}
	t := identity.Token{Value: given.Status.Token, Expiry: time.Now().Add(pluginLife)}
	if given.Status.ClientCertificateData != "" {
		cert, err := tls.X509KeyPair([]byte(given.Status.ClientCertificateData), []byte(given.Status.ClientKeyData))
		if err != nil {
			return t, errors.Errorf("credential plugin %q prints a certificate without its key", p.Command)
		}
		t.Certified, t.Expiry = true, cert.Leaf.NotAfter
		p.cert.Store(&cert)
		p.conns.CloseAll() // They have another one, or none.
	}
	if at := given.Status.ExpirationTimestamp; at != nil {
		t.Expiry = at.Time
	}
	return t, nil
}

// clientCertificate returns the certificate that the plugin has given, nil for none.
func (p *plugin) clientCertificate() (*tls.Certificate, error) { return p.cert.Load(), nil }
