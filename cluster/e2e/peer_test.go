package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
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

// installed finds provider-kubernetes and installs its definitions, and returns clients of the control plane and of the
// target. At the end of the test ours are there, and nothing of our kinds.
func installed(t *testing.T) (p peer, c, tc client.Client) {
	t.Helper()
	p, c, tc = newPeer(t), local.Client(t, apis.AddToScheme), target.Client(t)
	p.install(t, "https://127.0.0.1:1/convert")
	t.Cleanup(func() { local.InstallCRDs(t, ourCRDs); wipe(t, c) })
	return p, c, tc
}

// start starts provider-kubernetes with flags, and installs its CRDs.
func (p peer) start(t *testing.T, args ...string) *provider.Process {
	t.Helper()
	process := p.run(t, args...)
	p.install(t, "https://"+process.Webhook()+"/convert")
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
func (p peer) install(t *testing.T, webhook string) {
	t.Helper()
	o := envtest.CRDInstallOptions{Paths: []string{p.crds}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(&o); err != nil {
		t.Fatal(err)
	}
	o.Paths = nil // They have been read.
	for _, crd := range o.CRDs {
		if conversion := crd.Spec.Conversion; conversion != nil && conversion.Webhook != nil {
			conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &webhook, CABundle: p.ca}
		}
	}
	if _, err := envtest.InstallCRDs(local.Config(), o); err != nil {
		t.Fatal(err)
	}
}
