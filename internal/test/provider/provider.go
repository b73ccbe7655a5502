// Package provider runs the controllers inside a test, with settings a test may need and the binary does not offer.
package provider

import (
	"context"
	"sync"
	"testing"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/controller"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Defaults of the settings that tests leave alone.
const (
	poll    = time.Hour // so that what follows a change follows its watch
	workers = 100
)

// Start runs all controllers as the user of a configuration, until the process of the test ends. The CRDs must be
// installed. The options of the controllers can be changed.
func Start(t testing.TB, cfg *rest.Config, change ...func(*object.Options)) {
	t.Helper()
	StartUntil(t, context.Background(), cfg, change...)
}

// StartUntil is Start until a context ends. The function it returns waits for that.
func StartUntil(t testing.TB, ctx context.Context, cfg *rest.Config, change ...func(*object.Options)) (wait func()) {
	t.Helper()
	cfg.QPS = -1
	features := &feature.Flags{}
	features.Enable(feature.EnableBetaManagementPolicies)
	o := object.Options{
		Options: targetresource.Options{Options: xpcontroller.Options{
			Logger: logging.NewLogrLogger(ctrl.Log), PollInterval: poll, MaxConcurrentReconciles: workers,
			Features: features,
		}},
		LegacyFieldManagers: []string{"a-former-provider"},
	}
	for _, f := range change {
		f(&o)
	}
	if o.Registry == nil {
		o.Registry = newRegistry(t, cfg)
	}
	mgr, err := newManager(cfg, object.InSlots(o.Registry.Slots()))
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Setup(mgr, o, o.Logger); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer o.Registry.Close()
		if err := mgr.Start(ctx); err != nil && ctx.Err() == nil {
			panic(err) // The test that started it may be over.
		}
	}()
	return func() { <-ended }
}

func newRegistry(t testing.TB, cfg *rest.Config, change ...func(*clusters.Options)) *clusters.Registry {
	t.Helper()
	cfg.QPS = -1
	o := clusters.Options{Injected: cfg, UserAgent: "provider-kcp/test"}
	for _, f := range change {
		f(&o)
	}
	r, err := clusters.NewRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var once sync.Once

// Once installs our CustomResourceDefinitions on a control plane and starts all controllers as user "provider", once
// for all tests of a package, and returns a client of it. The options of connections can be changed.
func Once(t testing.TB, s *kube.Server, crds string, change ...func(*clusters.Options)) client.Client {
	t.Helper()
	once.Do(func() {
		s.InstallCRDs(t, crds)
		cfg := s.User(t, "provider", "system:masters")
		registry := newRegistry(t, cfg, change...)
		Start(t, cfg, func(o *object.Options) { o.Registry = registry })
	})
	return s.Client(t, apis.AddToScheme)
}

// AwaitReady waits until an Object is Synced and Ready.
func AwaitReady(t testing.TB, c client.Client, o build.Object) {
	t.Helper()
	kube.Await(t, c, o, o.GetName()+" to be ready", func() (bool, string) {
		synced, ready := o.GetCondition(xpv2.TypeSynced), o.GetCondition(xpv2.TypeReady)
		return synced.Status == corev1.ConditionTrue && ready.Status == corev1.ConditionTrue, synced.Message
	})
}

// PassQueue makes an Object that cannot be connected in a namespace, and waits until it says so: what was queued before
// has begun.
func PassQueue(t testing.TB, c client.Client, namespace string) {
	t.Helper()
	last := build.Namespaced().Object(namespace, "", "none", build.ConfigMap(namespace, "none"))
	last.SetGenerateName("none-")
	kube.Create(t, c, last)
	kube.Await(t, c, last, "an Object that comes after others", func() (bool, string) {
		return last.GetCondition(xpv2.TypeSynced).Status == corev1.ConditionFalse, "it is not looked at"
	})
	kube.Delete(t, c, last)
}

func newManager(cfg *rest.Config, held map[client.Object]cache.ByObject) (ctrl.Manager, error) {
	s := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apis.AddToScheme)
	if err := kinds.AddToScheme(s); err != nil {
		return nil, errors.Wrap(err, "cannot build scheme")
	}
	cfg, err := clusters.Sifted(cfg)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     s,
		NewClient:  informer.NewClient,
		Metrics:    server.Options{BindAddress: "0"},
		Cache:      cache.Options{NewInformer: informer.NewInformer(func() {}), ByObject: held},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	return mgr, errors.Wrap(err, "cannot make manager")
}
