package local

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	certsDir         = "certs" // below the folder of the cluster
	etcdDir          = "etcd"
	apiServerTimeout = 60 * time.Second // a loaded machine takes ten times what an idle one does
)

// prepare decides how etcd and kube-apiserver will be started.
func (c *Cluster) prepare() error {
	etcdPort, err := c.reserve()
	if err != nil {
		return err
	}
	apiPort, err := c.reserve()
	if err != nil {
		return err
	}
	if c.etcd, err = newLauncher(c.o.Dir, "etcd"); err != nil {
		return err
	}
	if c.apiServer, err = newLauncher(c.o.Dir, "kube-apiserver"); err != nil {
		return err
	}
	c.plane = &envtest.ControlPlane{
		Etcd: &envtest.Etcd{
			URL:          &url.URL{Scheme: "http", Host: etcdPort.addr()},
			Path:         c.etcd.path,
			DataDir:      filepath.Join(c.o.Dir, etcdDir),
			Out:          c.etcd.log,
			Err:          c.etcd.log,
			StartTimeout: apiServerTimeout,
			StopTimeout:  stopTimeout,
		},
		APIServer: &envtest.APIServer{
			SecureServing: envtest.SecureServing{
				ListenAddr: envtest.ListenAddr{Address: loopback, Port: apiPort.String()},
				Authn:      &c.users,
			},
			Path:         c.apiServer.path,
			CertDir:      filepath.Join(c.o.Dir, certsDir),
			Out:          c.apiServer.log,
			Err:          c.apiServer.log,
			StartTimeout: apiServerTimeout,
			StopTimeout:  stopTimeout,
		},
	}
	return c.setFlags(c.plane.APIServer.Configure())
}

// setFlags says in what the API server differs from envtest's.
func (c *Cluster) setFlags(f *envtest.Arguments) error {
	f.Set("advertise-address", loopback)
	// There is one API server, and no network on which to reach it by the Service kubernetes.
	f.Set("endpoint-reconciler-type", "none")
	// By default 400 and 200, which tests of load exceed.
	f.Set("max-requests-inflight", "4000")
	f.Set("max-mutating-requests-inflight", "2000")
	// Open watches would otherwise keep it from stopping for a minute.
	f.Set("shutdown-watch-termination-grace-period", "1s")
	if c.o.ControllerManager {
		// envtest turns off the admission of ServiceAccounts, as it has nobody to create them.
		f.Disable("disable-admission-plugins")
	}
	if err := c.setTokenWebhook(f); err != nil {
		return err
	}
	if !c.o.Audit {
		return nil
	}
	audit, err := auditFlags(c.o.Dir)
	for name, value := range audit {
		f.Set(name, value)
	}
	return err
}

func (c *Cluster) reserve() (*port, error) {
	p, err := reservePort()
	if err == nil {
		c.ports = append(c.ports, p)
	}
	return p, err
}

// StartAPIServer starts the API server again after StopAPIServer: with the same address, data, certificates and users.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if err := c.apiServer.start(ctx, c.thread, c.plane.APIServer.Start); err != nil {
		return err
	}
	if c.admin == nil {
		// A negative QPS means none; zero would mean client-go's default.
		admin, err := c.plane.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}},
			&rest.Config{QPS: -1})
		if err != nil {
			return errors.Wrap(err, "cannot add administrator")
		}
		c.admin = admin.Config()
		c.admin.Host = strings.TrimSuffix(c.admin.Host, "/")
	}
	// envtest has waited for /healthz. The namespaces come a moment later.
	check, err := Answers(c.admin, "/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system")
	if err != nil {
		return err
	}
	return errors.Wrap(poll(ctx, apiServerTimeout, check), "kube-apiserver is not ready")
}

// StopAPIServer ends the API server only and returns when it is gone. Its port refuses connections until
// StartAPIServer.
func (c *Cluster) StopAPIServer() error {
	return c.apiServer.stop(c.plane.APIServer.Stop)
}
