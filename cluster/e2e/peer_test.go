package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// peerName is the program of provider-kubernetes, as its image names it.
const peerName = "crossplane-kubernetes-provider"

// A peer is provider-kubernetes, which converts versions of Object by a webhook of its own.
type peer struct {
	binary string
	crds   string // the folder of its CRDs
	certs  string // the folder of its webhook's certificate
	ca     []byte
}

// newPeer finds provider-kubernetes where make tools has put it.
func newPeer(t *testing.T) peer {
	t.Helper()
	binary, err := filepath.EvalSymlinks(filepath.Join("..", "..", ".tools", "bin", peerName))
	if err != nil {
		t.Fatalf("cannot find provider-kubernetes, run make tools: %v", err)
	}
	p := peer{binary: binary, crds: filepath.Join(filepath.Dir(binary), "crds"), certs: t.TempDir()}
	cert, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(p.certs, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.ca = cert
	return p
}

// start starts provider-kubernetes with flags, and installs its CRDs.
func (p peer) start(t *testing.T, c client.Client, args ...string) *provider.Process {
	t.Helper()
	process := p.run(t, args...)
	p.install(t, c, "https://"+process.Webhook()+"/convert")
	return process
}

// run starts provider-kubernetes with flags.
func (p peer) run(t *testing.T, args ...string) *provider.Process {
	t.Helper()
	return program.Start(t, local.User(t, "peer", admins), provider.Options{
		Binary: p.binary, KubeconfigByEnv: true, Args: args, Env: []string{"TLS_SERVER_CERTS_DIR=" + p.certs},
		Grace: time.Minute, // It waits for up to half a minute for what it has begun.
	})
}

// install installs the CRDs of provider-kubernetes, whose package manager would say where the webhook is.
func (p peer) install(t *testing.T, c client.Client, webhook string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.crds, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("cannot find the CRDs of provider-kubernetes: %v", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, crd); err != nil {
			t.Fatal(err)
		}
		if conversion := crd.Spec.Conversion; conversion != nil && conversion.Webhook != nil {
			conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &webhook, CABundle: p.ca}
		}
		replace(t, c, crd)
	}
}

// replace creates a CRD or replaces the one of its name, and waits until it is served.
func replace(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	key := types.NamespacedName{Name: crd.GetName()}
	kube.Eventually(t, crd.GetName()+" to be served", func() (bool, string) {
		was := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(t.Context(), key, was)
		if apierrors.IsNotFound(err) {
			return false, fmt.Sprint(c.Create(t.Context(), crd))
		}
		if err != nil {
			return false, err.Error()
		}
		crd.SetResourceVersion(was.GetResourceVersion())
		if err := c.Update(t.Context(), crd); err != nil {
			return false, err.Error()
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, ""
			}
		}
		return false, "not established"
	})
}
