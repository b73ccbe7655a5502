package local

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pkg/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// ClusterOptions say how to start a Cluster.
type ClusterOptions struct {
	// Dir holds all files of the cluster, and is made if it is not there. Its last element is the cluster's name in
	// Log. Required.
	Dir string
	// ControllerManager runs kube-controller-manager, and with it admits pods only with a ServiceAccount, as usual.
	ControllerManager bool
	// Audit logs every request. See Cluster.AuditLog.
	Audit bool
	// TokenWebhook is the URL of a webhook that tells who has a bearer token, as clouds' clusters have one. None if
	// empty.
	TokenWebhook string
	// Log gets a line for each server that is ready, as one call of Write; nothing if nil.
	Log io.Writer
}

// A Cluster is a kube-apiserver with its own etcd, and on request a kube-controller-manager.
type Cluster struct {
	o           ClusterOptions
	thread      thread
	ports       []*port
	plane       *envtest.ControlPlane // nil until all of it can be started
	etcd        *launcher
	apiServer   *launcher
	controllers *process // nil without controller manager
	admin       *rest.Config
	users       users
	stopped     bool
}

// StartCluster returns when all of the cluster is ready. Context ctx ends the start, not the cluster; callers stop it.
func StartCluster(ctx context.Context, o ClusterOptions) (*Cluster, error) {
	c, err := newCluster(o)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		// Why it did not start matters more than what else goes wrong.
		_ = c.Stop()
		return nil, errors.Wrapf(err, "cannot start cluster %q", c.name())
	}
	return c, nil
}

func newCluster(o ClusterOptions) (*Cluster, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil || o.Dir == "" {
		return nil, errors.Errorf("cannot use folder %q for a cluster", o.Dir)
	}
	o.Dir = dir
	if o.Log == nil {
		o.Log = io.Discard
	}
	// envtest does not load certificates that are there, it would only go on to use them.
	if err := os.RemoveAll(filepath.Join(dir, certsDir)); err != nil {
		return nil, errors.Wrap(err, "cannot remove old certificates")
	}
	if err := os.MkdirAll(filepath.Join(dir, certsDir), 0o700); err != nil {
		return nil, errors.Wrap(err, "cannot make folder of cluster")
	}
	return &Cluster{o: o, thread: newThread()}, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.prepare(); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.etcd.start(ctx, c.thread, c.plane.Etcd.Start); err != nil {
		return err
	}
	c.plane.APIServer.EtcdURL = c.plane.Etcd.URL
	report(c.o.Log, c.name()+": etcd ready", begin)

	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	report(c.o.Log, c.name()+": kube-apiserver ready", begin)

	if !c.o.ControllerManager {
		return nil
	}
	if err := c.startControllers(ctx); err != nil {
		return err
	}
	report(c.o.Log, c.name()+": kube-controller-manager ready", begin)
	return nil
}

// Stop ends all of the cluster and returns when it is gone. It may be called again.
func (c *Cluster) Stop() error {
	if c.stopped {
		return nil
	}
	c.stopped = true
	errs := []error{c.controllers.stop()}
	if c.plane != nil {
		errs = append(errs, c.StopAPIServer(), c.etcd.stop(c.plane.Etcd.Stop))
	}
	for _, l := range []*launcher{c.etcd, c.apiServer} {
		errs = append(errs, l.close())
	}
	for _, p := range c.ports {
		p.release()
	}
	c.thread.close()
	return errors.Wrapf(kerrors.NewAggregate(errs), "cannot stop cluster %q", c.name())
}

// Config returns a copy of the administrator's configuration, group system:masters. It has no limit of requests.
func (c *Cluster) Config() *rest.Config {
	return rest.CopyConfig(c.admin)
}

// User returns a configuration with a client certificate for a user. It has no rights but those of the groups, and no
// limit of requests.
func (c *Cluster) User(name string, groups ...string) (*rest.Config, error) {
	return c.users.AddUser(envtest.User{Name: name, Groups: groups}, c.admin)
}

// AuditLog returns the path of the audit log, which ReadAudit reads; empty without Audit. A request makes a line when
// it is received, and one that is on disk when the client has the end of the answer. A watch makes one line, when it
// starts.
func (c *Cluster) AuditLog() string {
	if !c.o.Audit {
		return ""
	}
	return auditLog(c.o.Dir)
}

func (c *Cluster) name() string {
	return filepath.Base(c.o.Dir)
}
