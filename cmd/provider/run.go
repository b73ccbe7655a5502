package main

import (
	"context"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	"github.com/go-logr/logr"
	"github.com/pkg/errors"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crossplane-contrib/provider-kcp/apis"
	"github.com/crossplane-contrib/provider-kcp/internal/changelog"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/controller"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/version"
)

// gcPercent trades a little CPU for memory: what lives long is the caches, and a provider has many of its kind beside
// it.
const gcPercent = 50

// run runs the provider until the context ends.
func run(ctx context.Context, f *flags) error {
	if err := f.check(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	zl := newLogger(f, zapcore.InfoLevel)
	ctrl.SetLogger(newLogger(f, zapcore.ErrorLevel)) // It logs each start of a watch.
	klog.SetLogger(zl.WithName("klog"))
	log := logging.NewLogrLogger(zl.WithName("provider-kcp"))
	cfg, namespace, err := restConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	plugins, err := pluginRunner(cfg)
	if err != nil {
		return err
	}
	log.Info("Starting provider-kcp", "version", version.Version, "flags", f.changed, "control-plane", cfg.Host,
		"namespace", namespace)
	f.warn(log)
	replica, err := f.election.candidate(cfg, namespace, log)
	if err != nil {
		return err
	}
	mgr, err := newManager(replica.fence.Protect(cfg), replica, f, log)
	if err != nil {
		return err
	}
	registry, err := f.newRegistry(cfg, plugins, replica)
	if err != nil {
		return err
	}
	defer registry.Close()
	metrics.Registry.MustRegister(version.NewBuildInfo(), registry.Metrics(), replica.slots.Metrics())
	o := options(f, log, registry)
	if f.changeLogs {
		l, err := changelog.Dial(f.changeLogsSocket)
		if err != nil {
			return err
		}
		o.ChangeLogOptions = &xpcontroller.ChangeLogOptions{ChangeLogger: l}
	}
	if err := controller.Setup(mgr, o, log); err != nil {
		return errors.Wrap(err, "cannot set up controllers")
	}
	return errors.Wrap(mgr.Start(ctx), "cannot run manager")
}

// newRegistry returns the registry of connections of a replica.
func (f *flags) newRegistry(cfg *rest.Config, plugins []string, replica candidate) (*clusters.Registry, error) {
	o, err := f.targets()
	if err != nil {
		return nil, err
	}
	o.Injected, o.RunPlugins, o.Fence, o.Slots = cfg, plugins, replica.fence, replica.slots
	r, err := clusters.NewRegistry(o)
	return r, errors.Wrap(err, "cannot create target registry")
}

// pluginRunner returns the command that runs credential plugins, and has it run that of a REST configuration: it ends
// one that hangs, which client-go does not.
func pluginRunner(cfg *rest.Config) ([]string, error) {
	program, err := os.Executable()
	command := []string{program, commandPlugin}
	clusters.RunPluginBy(command, cfg)
	return command, errors.Wrap(err, "cannot find the path of the provider executable")
}

// warn logs a line for each flag that is set and has no effect.
func (f *flags) warn(log logging.Logger) {
	for _, name := range slices.Sorted(maps.Keys(f.ignored)) {
		if _, differs := f.changed[name]; differs || *f.ignored[name] {
			log.Info("Flag has no effect", "flag", name)
		}
	}
}

// restConfig returns how to reach the control plane, and the namespace the provider runs in: those of the kubeconfig at
// a path or in the environment, else those of the pod.
func restConfig(path string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{})
	cfg, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot use the kubeconfig")
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, "", errors.Wrap(err, "cannot get the namespace of the kubeconfig")
	}
	cfg.UserAgent = version.UserAgent()
	cfg.QPS, cfg.Burst = -1, 0                        // See package clusters for why there is no client-side limit.
	cfg.WarningHandlerWithContext = rest.NoWarnings{} // They are about finalizers, whose names Crossplane has given.
	return cfg, namespace, nil
}

func newManager(cfg *rest.Config, replica candidate, f *flags, log logging.Logger) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(corev1.AddToScheme, apis.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		return nil, errors.Wrap(err, "cannot build scheme")
	}
	caches := cache.Options{
		SyncPeriod: &f.sync, ByObject: object.InSlots(replica.slots),
		DefaultTransform: cache.TransformStripManagedFields(), // No controller reads them.
		NewInformer: informer.NewInformer(func() {
			clusters.CountRestoredControlPlane()
			log.Info("resourceVersion of the control plane decreased (restored from a backup?)")
		}),
	}
	cfg, err := clusters.Sifted(cfg)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                 scheme,
		NewClient:              informer.NewClient,
		Cache:                  caches,
		Client:                 client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics:                server.Options{BindAddress: f.metricsAddress},
		HealthProbeBindAddress: f.healthAddress,

		LeaderElection:                      f.election.enabled,
		LeaderElectionID:                    f.election.id,
		LeaderElectionResourceLockInterface: replica.lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       &f.election.leaseDuration,
		RenewDeadline:                       &f.election.renewDeadline,
		RetryPeriod:                         &f.election.retryPeriod,
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot create manager")
	}
	return mgr, addProbes(mgr)
}

func options(f *flags, log logging.Logger, registry *clusters.Registry) object.Options {
	features := &feature.Flags{}
	if f.managementPolicies {
		features.Enable(feature.EnableBetaManagementPolicies)
	}
	recorder := managed.NewMRMetricRecorder()
	state := statemetrics.NewMRStateMetrics()
	metrics.Registry.MustRegister(recorder, state)
	o := f.controllers
	o.Logger, o.Features, o.Registry = log, features, registry
	o.MetricOptions = &xpcontroller.MetricOptions{
		PollStateMetricInterval: f.pollStateMetric, MRMetrics: recorder, MRStateMetrics: state,
	}
	o.PollJitter = float64(f.pollJitterPercentage) / 100
	o.AllowCrossNamespaceReferences = f.connections.AllowCrossNamespace
	return o
}

// Formats of the log.
const (
	logJSON    = "json"
	logConsole = "console"
)

// newLogger returns a logger of a level, and of level debug with that flag. It writes to standard error in the format
// of the flags whatever the level.
func newLogger(f *flags, level zapcore.Level) logr.Logger {
	encoder := zap.JSONEncoder()
	if strings.EqualFold(f.logFormat, logConsole) {
		encoder = zap.ConsoleEncoder()
	}
	if f.debug {
		level = zapcore.DebugLevel
	}
	return zap.New(zap.Level(level), encoder)
}

// readyPatience is how long the readiness probe waits for caches.
const readyPatience = 100 * time.Millisecond

// readiness returns a probe that fails until the caches of the control plane have been filled once. It does not go back
// when a controller starts later, as all do in a replica that becomes the leader, and with it a cache of its own.
func readiness(filled func(context.Context) bool) healthz.Checker {
	var ready atomic.Bool
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), readyPatience)
		defer cancel()
		if !ready.Load() && !filled(ctx) {
			return errors.New("caches of the control plane are not filled yet")
		}
		ready.Store(true)
		return nil
	}
}

func addProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return errors.Wrap(err, "cannot add health probe")
	}
	return errors.Wrap(mgr.AddReadyzCheck("caches", readiness(mgr.GetCache().WaitForCacheSync)),
		"cannot add readiness probe")
}
