package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	pcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/providerconfig/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

const (
	// user is whom the provider is on both servers.
	user   = "provider"
	admins = "system:masters"
	// namespace is that of the Secret on the control plane, and of all ConfigMaps on the target.
	namespace = "bench"
)

var (
	objects         = objectv1alpha2.GroupVersion.WithResource("objects")
	providerConfigs = pcv1alpha1.GroupVersion.WithResource("providerconfigs")
	configMaps      = corev1.SchemeGroupVersion.WithResource("configmaps")
	secrets         = corev1.SchemeGroupVersion.WithResource("secrets")
	namespaces      = corev1.SchemeGroupVersion.WithResource("namespaces")
)

// A server is one of the two clusters, and our client of it.
type server struct {
	*local.Cluster

	client dynamic.Interface
}

// A bed is two clusters to measure on, and the provider.
type bed struct {
	options options
	dir     string
	control server
	target  server
	end     func() error // ends the clusters

	kubeconfig []byte            // of the provider, for the control plane
	provider   *provider.Process // nil if it was never started
}

// startBed starts two clusters. Callers stop it.
func startBed(ctx context.Context, o options) (*bed, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make folder")
	}
	b := &bed{options: o, dir: dir}
	progressf("starting a control plane and a target")
	b.end, err = local.StartAll(ctx, b.starter("control-plane", &b.control), b.starter("target", &b.target))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if err := b.prepare(ctx); err != nil {
		_ = b.stop()
		return nil, err
	}
	return b, nil
}

func (b *bed) starter(name string, s *server) local.Starter {
	return local.StartFunc(func(ctx context.Context) (func() error, error) {
		c, err := local.StartCluster(ctx, local.ClusterOptions{Dir: filepath.Join(b.dir, name), Audit: true})
		if err != nil {
			return nil, err
		}
		d, err := dynamic.NewForConfig(c.Config())
		if err != nil {
			_ = c.Stop()
			return nil, errors.Wrap(err, "cannot make client")
		}
		*s = server{Cluster: c, client: d}
		return c.Stop, nil
	})
}

// prepare makes what has to be on the servers before a provider starts.
func (b *bed) prepare(ctx context.Context) error {
	_, err := envtest.InstallCRDs(b.control.Config(), envtest.CRDInstallOptions{Paths: []string{b.options.crds}, ErrorIfPathMissing: true})
	if err != nil {
		return errors.Wrap(err, "cannot install CustomResourceDefinitions")
	}
	for _, s := range []server{b.control, b.target} {
		if err := s.create(ctx, namespaces, &corev1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace},
		}); err != nil {
			return err
		}
	}
	b.kubeconfig, err = b.control.kubeconfig()
	return err
}

// stop ends the provider and the clusters, and removes their files.
func (b *bed) stop() error {
	if b.provider != nil {
		b.provider.Kill()
	}
	return kerrors.NewAggregate([]error{b.end(), os.RemoveAll(b.dir)})
}

// startProvider starts the provider with its default flags.
func (b *bed) startProvider() (err error) {
	b.provider, err = provider.Start(provider.Options{
		Binary: b.options.provider, Dir: filepath.Join(b.dir, "provider"), Kubeconfig: b.kubeconfig,
	})
	return err
}

// create creates an API object; it must have its kind set.
func (s server) create(ctx context.Context, r schema.GroupVersionResource, obj metav1.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return errors.Wrap(err, "cannot encode object")
	}
	_, err = s.resource(r, obj.GetNamespace()).Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	return errors.Wrapf(err, "cannot create %s %q", r.Resource, obj.GetName())
}

func (s server) resource(r schema.GroupVersionResource, ns string) dynamic.ResourceInterface {
	if ns == "" {
		return s.client.Resource(r)
	}
	return s.client.Resource(r).Namespace(ns)
}

// kubeconfig returns how the provider reaches the server.
func (s server) kubeconfig() ([]byte, error) {
	cfg, err := s.User(user, admins)
	if err != nil {
		return nil, err
	}
	return local.Kubeconfig(cfg)
}
