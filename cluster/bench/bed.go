package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

const (
	// user is whom the provider is on clusters.
	user   = "provider"
	admins = "system:masters"
)

// A server is one of those that are measured, and our client of it.
type server struct {
	name string // for people

	config  *rest.Config
	client  dynamic.Interface
	cluster *local.Cluster // nil of kcp
	audit   string         // path of the audit log

	user       string // whom the provider is, or begins the names of several users: <user>-<number>
	kubeconfig []byte // of that user
}

// A bed is the servers to measure on, and the provider.
type bed struct {
	options options
	dir     string
	servers []*server
	end     func() error // ends the servers

	control  *server           // the one of them that is the provider's control plane
	provider *provider.Process // nil if it was never started
}

// newBed returns a bed whose servers are not started yet. Callers stop it.
func newBed(o options, control *server, servers ...*server) (*bed, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make folder")
	}
	return &bed{options: o, dir: dir, servers: servers, control: control, end: func() error { return nil }}, nil
}

// newFleet starts a control plane and the targets. Callers stop the bed, also beside an error, unless it is nil.
func newFleet(ctx context.Context, o options) (*bed, []*server, error) {
	control := &server{name: "control plane"}
	b, err := newBed(o, control, control)
	if err != nil {
		return nil, nil, err
	}
	starters := []local.Starter{b.cluster(control)}
	for i := range o.targets {
		target := &server{name: fmt.Sprintf("target %d", i+1)}
		b.servers, starters = append(b.servers, target), append(starters, b.cluster(target))
	}
	if err := b.start(ctx, starters...); err != nil {
		return b, b.servers[1:], err
	}
	return b, b.servers[1:], b.prepare(ctx)
}

// start starts the servers.
func (b *bed) start(ctx context.Context, starters ...local.Starter) error {
	progressf("starting servers")
	end, err := local.StartAll(ctx, starters...)
	if err == nil {
		b.end = end
	}
	return err
}

// cluster starts a cluster, and is for start.
func (b *bed) cluster(s *server) local.Starter {
	return local.StartFunc(func(ctx context.Context) (func() error, error) {
		c, err := local.StartCluster(ctx, local.ClusterOptions{Dir: filepath.Join(b.dir, s.name), Audit: true})
		if err != nil {
			return nil, err
		}
		if err := s.use(c); err != nil {
			_ = c.Stop()
			return nil, err
		}
		return c.Stop, nil
	})
}

// use makes a server of a cluster.
func (s *server) use(c *local.Cluster) (err error) {
	s.user, s.cluster, s.config, s.audit = user, c, c.Config(), c.AuditLog()
	if s.client, err = dynamic.NewForConfig(s.config); err != nil {
		return errors.Wrap(err, "cannot make client")
	}
	s.kubeconfig, err = s.kubeconfigOf(user)
	return err
}

// kubeconfigOf returns a kubeconfig of a user who may do everything.
func (s *server) kubeconfigOf(name string) ([]byte, error) {
	cfg, err := s.cluster.User(name, admins)
	if err != nil {
		return nil, err
	}
	return local.Kubeconfig(cfg)
}

// installCRDs makes the control plane one.
func (b *bed) installCRDs() error {
	_, err := envtest.InstallCRDs(b.control.config,
		envtest.CRDInstallOptions{Paths: []string{b.options.crds}, ErrorIfPathMissing: true})
	return errors.Wrap(err, "cannot install CustomResourceDefinitions")
}

// stop ends the provider and the servers, and removes their files.
func (b *bed) stop() error {
	if b.provider != nil {
		b.provider.Kill()
	}
	return kerrors.NewAggregate([]error{b.end(), os.RemoveAll(b.dir)})
}

// create creates an API object; it must have its kind set.
func (s *server) create(ctx context.Context, r schema.GroupVersionResource, obj metav1.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return errors.Wrap(err, "cannot encode object")
	}
	_, err = s.resource(r, obj.GetNamespace()).Create(ctx, &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{})
	return errors.Wrapf(err, "cannot create %s %q", r.Resource, obj.GetName())
}

func (s *server) resource(r schema.GroupVersionResource, ns string) dynamic.ResourceInterface {
	if ns == "" {
		return s.client.Resource(r)
	}
	return s.client.Resource(r).Namespace(ns)
}
