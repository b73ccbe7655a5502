package local

import (
	"context"
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// StartCrossplane1 is StartCrossplane for the last Crossplane 1, which composes resources itself. Packages activate all
// of their kinds. Its own initialisation looks for files in the root of the file system, so its needs are met here.
func StartCrossplane1(ctx context.Context, o CrossplaneOptions) (*Crossplane, error) {
	x := &Crossplane{runtime: "Deployment"}
	return x.begin(ctx, o, x.start1)
}

func (x *Crossplane) start1(ctx context.Context, cfg *rest.Config) error {
	data, err := Data("crossplane-v1", "crossplane-v1-cluster")
	if err != nil {
		return err
	}
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(data, "crds")}, ErrorIfPathMissing: true}
	if _, err := envtest.InstallCRDs(cfg, crds); err != nil {
		return errors.Wrap(err, "cannot install Crossplane's CustomResourceDefinitions")
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return errors.Wrap(err, "cannot make client")
	}
	if err := prepare(ctx, c); err != nil {
		return err
	}
	// It wants to know its clients by certificates of an authority, though it has none.
	certs := filepath.Join(x.dir, "tls")
	crt, key, err := cert.GenerateSelfSignedCertKey("crossplane", nil, nil)
	if err != nil {
		return errors.Wrap(err, "cannot make certificate")
	}
	if err := writeFiles(certs, map[string][]byte{"ca.crt": crt, "tls.crt": crt, "tls.key": key}); err != nil {
		return errors.Wrap(err, "cannot write certificate")
	}
	return x.run(ctx, "crossplane-v1", certs, []string{"rbac", "start"}, []string{"core", "start", "--debug"})
}
