package local

import (
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// CertManagerOptions say for which cluster to run cert-manager.
type CertManagerOptions struct {
	// Dir holds all files, and is made if it is not there. Required.
	Dir string
	// Config is that of an administrator of the cluster, which must serve cert-manager's CustomResourceDefinitions,
	// those of CertManagerDefinitions. Required.
	Config *rest.Config
}

// CertManager is what cert-manager issues certificates with, see hack/tools/cert-manager. Its webhook is left out,
// which would only complete and check what is applied.
type CertManager struct {
	daemon
}

// CertManagerDefinitions returns the folder of cert-manager's CustomResourceDefinitions.
func CertManagerDefinitions() (string, error) { return Data("cert-manager", "cert-manager-crds") }

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
	controllers, err := m.thread.spawn(m.dir, "cert-manager", "--kubeconfig="+m.kubeconfig)
	if err == nil {
		m.processes = append(m.processes, controllers)
	}
	return err
}
