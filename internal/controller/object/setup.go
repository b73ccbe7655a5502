package object

import (
	"context"
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
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/crossplane-contrib/provider-kcp/internal/quiet"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
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
	// LegacyFieldManagers are managers, beside those known, that have applied manifests of Objects client-side.
	LegacyFieldManagers []string
	// Claims tell Objects of one name apart, in both scopes.
	Claims *Claims
}

// Setup adds the controller of Objects of one scope to a manager.
func Setup[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	name := managed.ControllerName(k.GVK.GroupKind().String())
	drift := newDriftLimiter()
	forget := func(n types.NamespacedName) {
		owner := watch.Owner{Controller: name, NamespacedName: n}
		o.Registry.Forget(owner)
		o.Claims.release(owner)
		drift.forget(owner)
	}
	r := &reconciler{
		managed: newManaged(mgr, o, k, &connector[T]{kind: k, controller: name, registry: o.Registry, drift: drift, options: o}, forget),
		forget:  forget,
	}
	if err := o.Claims.include(mgr, k.New(), k.NewList); err != nil {
		return errors.Wrapf(err, "cannot index Objects for controller %s", name)
	}
	opts := o.ForControllerRuntime()
	opts.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMax)
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(opts).
		For(k.New()).
		WithEventFilter(quiet.DesiredStateChanged()).
		WatchesRawSource(targets(o.Registry, name))
	for _, c := range k.Configs {
		b = b.Watches(c.New(), wakeUsers(o.Registry, c))
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

// targets is the source of events from targets and credentials: those who watch them add requests to the queue directly.
func targets(r *target.Registry, name string) source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.OnChange(name, func(n types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: n}) })
		return nil
	})
}

// wakeUsers wakes the users of a ProviderConfig when it appears, changes or goes.
func wakeUsers(r *target.Registry, c scope.Config) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e ctrlevent.CreateEvent, _ queue) { r.Wake(c.Key(e.Object)) },
		UpdateFunc: func(_ context.Context, e ctrlevent.UpdateEvent, _ queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() {
				r.Wake(c.Key(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e ctrlevent.DeleteEvent, _ queue) { r.Wake(c.Key(e.Object)) },
	}
}
