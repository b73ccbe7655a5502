package local

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// StartCrossplane1 is StartCrossplane for the last Crossplane 1, which composes resources itself. It has no manager of rights and, as nobody
// initialises it, nothing that signs certificates of functions: it installs no packages.
func StartCrossplane1(ctx context.Context, o CrossplaneOptions) (*Crossplane, error) {
	x := &Crossplane{runtime: "Deployment"}
	if err := x.open(o.Dir, o.Config); err != nil {
		return nil, errors.Wrap(err, "cannot prepare Crossplane")
	}
	if err := x.start1(ctx, o); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = x.Stop()
		return nil, errors.Wrap(err, "cannot start Crossplane")
	}
	return x, nil
}

func (x *Crossplane) start1(ctx context.Context, o CrossplaneOptions) error {
	data, err := Data("crossplane-v1", "crossplane-v1-cluster")
	if err != nil {
		return err
	}
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(data, "crds")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(o.Config, crds); err != nil {
		return errors.Wrap(err, "cannot install Crossplane's CustomResourceDefinitions")
	}
	// It wants to know its clients by certificates of an authority, though it has none.
	certs := filepath.Join(x.dir, "tls")
	if err := os.MkdirAll(certs, 0o700); err != nil {
		return errors.Wrap(err, "cannot make folder of certificates")
	}
	crt, key, err := cert.GenerateSelfSignedCertKey("crossplane", nil, nil)
	if err != nil {
		return errors.Wrap(err, "cannot make certificate")
	}
	for name, content := range map[string][]byte{"ca.crt": crt, "tls.crt": crt, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(certs, name), content, 0o600); err != nil {
			return errors.Wrap(err, "cannot write certificate")
		}
	}
	return x.run(ctx, "crossplane-v1", certs, []string{"core", "start"})
}
