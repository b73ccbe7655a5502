package object

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/quiet"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/wake"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

const (
	// retryFirst and retryMax bound the pause before a failed Object is tried again, which doubles each time.
	retryFirst = 250 * time.Millisecond
	retryMax   = 2 * time.Second
)

// Options of the controllers of Objects, beside those all controllers have.
type Options struct {
	controller.Options

	// Registry connects to the targets.
	Registry *target.Registry
	// PollJitter is the fraction of the poll interval by which it varies.
	PollJitter float64
	// SanitizeSecrets keeps the data of Secrets out of status.
	SanitizeSecrets bool
	// RemoveManagedFields keeps managed fields out of status.
	RemoveManagedFields bool
}

// Setup adds the controller of Objects of one scope to a manager.
func Setup[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	name := managed.ControllerName(k.GVK.GroupKind().String())
	drift := newDriftLimiter()
	forget := func(n types.NamespacedName) {
		owner := watch.Owner{Controller: name, NamespacedName: n}
		o.Registry.Forget(owner)
		drift.forget(owner)
	}
	r := &reconciler{
		managed: newManaged(mgr, o, k, &connector[T]{kind: k, controller: name, registry: o.Registry, drift: drift, options: o}, forget),
		forget:  forget,
	}
	opts := o.ForControllerRuntime()
	opts.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMax)
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(opts).
		For(k.New()).
		WithEventFilter(quiet.DesiredStateChanged()).
		WatchesRawSource(wake.Targets(o.Registry, name, 0))
	for _, c := range k.Configs {
		b = b.Watches(c.New(), wake.Users(o.Registry, c))
	}
	if err := b.Complete(r); err != nil {
		return errors.Wrapf(err, "cannot set up controller %s", name)
	}
	return addStateMetrics(mgr, o, k)
}

func newManaged[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T], c *connector[T], forget func(types.NamespacedName)) *managed.Reconciler {
	m := quiet.NewManager(mgr)
	opts := []managed.ReconcilerOption{
		managed.WithExternalConnector(c),
		managed.WithLogger(o.Logger.WithValues("controller", c.controller)),
		managed.WithRecorder(quiet.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(c.controller), o.EventFilterFunctions...))),
		managed.WithPollInterval(o.PollInterval),
		managed.WithPollIntervalHook(pollHook(o.PollJitter)),
		managed.WithInitializers(),
		managed.WithFinalizer(finalizer{local: m.GetClient(), forget: func(obj client.Object) { forget(client.ObjectKeyFromObject(obj)) }}),
		managed.WithCriticalAnnotationUpdater(annotations{}),
		managed.WithDeterministicExternalName(true),
	}
	if o.MetricOptions != nil {
		opts = append(opts, managed.WithMetricRecorder(o.MetricOptions.MRMetrics))
	}
	if o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		opts = append(opts, managed.WithManagementPolicies())
	}
	return managed.NewReconciler(m, resource.ManagedKind(k.GVK), opts...)
}
