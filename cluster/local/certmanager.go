package local

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// CertManagerOptions say for which cluster to run cert-manager.
type CertManagerOptions struct {
	// Dir holds all files, and is made if it is not there. Required.
	Dir string
	// Config is that of an administrator of the cluster, which must serve cert-manager's CustomResourceDefinitions, those that
	// WriteCertManagerDefinitions writes. Required.
	Config *rest.Config
}

// CertManager is the controller of cert-manager. Its webhook is left out, which would only complete and check what is applied.
type CertManager struct {
	daemon
}

// WriteCertManagerDefinitions writes cert-manager's CustomResourceDefinitions to a folder that is there: without what only Helm understands.
func WriteCertManagerDefinitions(dir string) error {
	data, err := Data("cert-manager-controller", "cert-manager-crds")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(data, "*.yaml"))
	if err != nil || len(files) == 0 {
		return errors.Errorf("cannot find the definitions of cert-manager in %s", data)
	}
	for _, f := range files {
		content, err := os.ReadFile(f) //nolint:gosec // It is one of ours.
		if err != nil {
			return errors.Wrap(err, "cannot read definition")
		}
		var plain []byte
		for line := range bytes.Lines(content) {
			if !bytes.Contains(line, []byte("{{")) {
				plain = append(plain, line...)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), plain, 0o600); err != nil {
			return errors.Wrap(err, "cannot write definition")
		}
	}
	return nil
}

// StartCertManager returns when cert-manager runs; it begins with what it finds a moment later. Callers stop it.
func StartCertManager(o CertManagerOptions) (*CertManager, error) {
	m := &CertManager{}
	if err := m.open(o.Dir, o.Config); err != nil {
		return nil, errors.Wrap(err, "cannot prepare cert-manager")
	}
	if err := m.start(); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = m.Stop()
		return nil, errors.Wrap(err, "cannot start cert-manager")
	}
	return m, nil
}

func (m *CertManager) start() error {
	p, err := m.reserve()
	if err != nil {
		return err
	}
	controller, err := m.thread.spawn(m.dir, "cert-manager-controller",
		"--kubeconfig="+m.kubeconfig,
		"--leader-elect=false",
		"--enable-certificate-owner-ref", // Secrets go with their Certificates.
		"--metrics-listen-address="+p.addr(),
	)
	if err == nil {
		m.processes = append(m.processes, controller)
	}
	return err
}
