package local

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

const controllersTimeout = 60 * time.Second

// startControllers runs kube-controller-manager, with all controllers but those that need nodes on a network or a
// cloud.
func (c *Cluster) startControllers(ctx context.Context) error {
	kubeconfig, rootCA, err := c.writeControllerFiles()
	if err != nil {
		return err
	}
	p, err := c.reserve()
	if err != nil {
		return err
	}
	flags := append(c.controllerFlags(), "--secure-port="+p.String(), "--root-ca-file="+rootCA,
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	if c.controllers, err = c.thread.spawn(c.o.Dir, "kube-controller-manager", flags...); err != nil {
		return err
	}
	// It signs its own certificate.
	healthz := &rest.Config{Host: "https://" + p.addr(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	healthy, err := Answers(healthz, "/healthz")
	if err != nil {
		return err
	}
	working, err := Answers(c.admin, "/api/v1/namespaces/default/serviceaccounts/default")
	if err != nil {
		return err
	}
	return c.controllers.await(ctx, controllersTimeout, func(ctx context.Context) error {
		if err := healthy(ctx); err != nil {
			return err
		}
		return working(ctx)
	})
}

func (c *Cluster) controllerFlags() []string {
	certs := filepath.Join(c.o.Dir, certsDir)
	return []string{
		"--bind-address=" + loopback,
		"--cert-dir=" + certs,
		"--controllers=*,-nodeipam",
		"--enable-garbage-collector=true",
		"--leader-elect=false",
		// A busy machine keeps KWOK from renewing the Leases of nodes. Pods of a node that was taken for dead would not
		// become ready again.
		"--node-monitor-grace-period=10m",
		// By default 20 and 30, at which only to start takes five times as long.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		// The key that envtest gives the API server.
		"--service-account-private-key-file=" + filepath.Join(certs, "sa-signer.key"),
		// As in clusters made by kubeadm: each controller has only its own rights.
		"--use-service-account-credentials=true",
	}
}

func (c *Cluster) writeControllerFiles() (kubeconfig, rootCA string, err error) {
	cfg, err := c.User("system:kube-controller-manager")
	if err != nil {
		return "", "", err
	}
	b, err := Kubeconfig(cfg)
	if err != nil {
		return "", "", err
	}
	kubeconfig = filepath.Join(c.o.Dir, certsDir, "controller-manager.kubeconfig")
	if err := os.WriteFile(kubeconfig, b, 0o600); err != nil {
		return "", "", errors.Wrap(err, "cannot write kubeconfig of controller manager")
	}
	rootCA = filepath.Join(c.o.Dir, certsDir, "root-ca.crt")
	err = os.WriteFile(rootCA, cfg.CAData, 0o600)
	return kubeconfig, rootCA, errors.Wrap(err, "cannot write root CA")
}
