package local

import (
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// tokenCache is how long the API server believes what the webhook has said.
const tokenCache = "1s"

// setTokenWebhook makes the API server ask the webhook of tokens, if there is one.
func (c *Cluster) setTokenWebhook(f *envtest.Arguments) error {
	if c.o.TokenWebhook == "" {
		return nil
	}
	kubeconfig, err := Kubeconfig(&rest.Config{Host: c.o.TokenWebhook})
	if err != nil {
		return err
	}
	path := filepath.Join(c.o.Dir, "token-webhook.kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return errors.Wrap(err, "cannot write kubeconfig of token webhook")
	}
	f.Set("authentication-token-webhook-config-file", path)
	f.Set("authentication-token-webhook-version", "v1")
	f.Set("authentication-token-webhook-cache-ttl", tokenCache)
	return nil
}
