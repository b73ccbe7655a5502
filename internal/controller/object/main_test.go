package object_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crossplane-contrib/provider-kcp/apis"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	mobjectv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/object/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/controller"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	targetpkg "github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// user is whom the provider is on both servers.
const user = "provider"

// soon is how long anything may take that must happen at once; a busy machine is slower than the software.
const soon = 20 * time.Second

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

var startProvider sync.Once

// provide starts the controllers, once for all tests of the package, and returns a client of the control plane.
func provide(t *testing.T) client.Client {
	t.Helper()
	startProvider.Do(func() {
		ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
		local.InstallCRDs(t, filepath.Join("..", "..", "..", "package", "crds"))
		// It runs until the process of the test ends, as the servers do.
		go startManager(context.Background(), t, local.User(t, user, "system:masters"), 5*time.Second)
	})
	return local.Client(t, apis.AddToScheme)
}

func startManager(ctx context.Context, t *testing.T, cfg *rest.Config, poll time.Duration) {
	cfg.QPS = -1
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Error(err)
	}
	if err := apis.AddToScheme(s); err != nil {
		t.Error(err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     s,
		Metrics:    server.Options{BindAddress: "0"},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr(true)},
	})
	if err != nil {
		t.Error(err)
		return
	}
	registry, err := targetpkg.NewRegistry(targetpkg.Options{Injected: cfg, UserAgent: user})
	if err != nil {
		t.Error(err)
		return
	}
	defer registry.Close()
	features := &feature.Flags{}
	features.Enable(feature.EnableBetaManagementPolicies)
	err = controller.Setup(mgr, object.Options{
		Options: xpcontroller.Options{
			Logger: logging.NewLogrLogger(ctrl.Log), PollInterval: poll, MaxConcurrentReconciles: 20, Features: features,
		},
		Registry: registry,
	})
	if err != nil {
		t.Error(err)
		return
	}
	if err := mgr.Start(ctx); err != nil {
		t.Error(err)
	}
}

func ptr[T any](v T) *T { return &v }

// create creates resources on the control plane.
func create(t *testing.T, c client.Client, objs ...client.Object) {
	t.Helper()
	for _, o := range objs {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("cannot create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// connect makes a ProviderConfig that reaches the target as a user, and returns its name and, for the namespaced scope, its namespace.
func connect(t *testing.T, c client.Client, s build.Scope, cfg *rest.Config) (namespace, name string) {
	t.Helper()
	return connectWith(t, c, s, kube.Kubeconfig(t, cfg))
}

// connectWith makes a ProviderConfig from the content of a kubeconfig.
func connectWith(t *testing.T, c client.Client, s build.Scope, kubeconfig []byte) (namespace, name string) {
	t.Helper()
	namespace = local.Namespace(t)
	create(t, c, secret(namespace, "credentials", kubeconfig),
		s.Config(namespace, namespace, build.FromSecret(namespace, "credentials")))
	return namespace, namespace
}

// connectAs makes another ProviderConfig in the namespace of a world.
func connectAs(t *testing.T, w world, cfg *rest.Config) (namespace, name string) {
	t.Helper()
	name = w.namespace + "-other"
	create(t, w.c, secret(w.namespace, "other", kube.Kubeconfig(t, cfg)),
		w.scope.Config(w.namespace, name, build.FromSecret(w.namespace, "other")))
	return w.namespace, name
}

// setConfig makes an Object refer to another ProviderConfig of its scope.
func setConfig(o build.Object, name string) {
	switch o := o.(type) {
	case *objectv1alpha2.Object:
		o.Spec.ProviderConfigReference.Name = name
	case *mobjectv1alpha1.Object:
		o.Spec.ProviderConfigReference.Name = name
	}
}

// targetUser returns who the provider is on the target, with all rights.
func targetUser(t *testing.T) *rest.Config {
	t.Helper()
	return target.User(t, user, "system:masters")
}

// awaitCondition waits until a condition of an Object has a status and reason, and returns its message.
func awaitCondition(t *testing.T, c client.Client, o build.Object, want wantCondition) string {
	t.Helper()
	var message string
	kube.Eventually(t, soon, want.String()+" of "+o.GetName(), func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return false, err.Error()
		}
		got := o.GetCondition(want.Type)
		message = got.Message
		return got.Status == want.Status && (want.Reason == "" || got.Reason == want.Reason),
			string(got.Status) + " " + string(got.Reason) + ": " + got.Message
	})
	return message
}

// awaitReady waits until an Object is Synced and Ready.
func awaitReady(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	awaitCondition(t, c, o, synced)
	awaitCondition(t, c, o, ready)
}
