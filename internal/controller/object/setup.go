package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/crossplane/crossplane-runtime/v2/pkg/statemetrics"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/reference"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
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
	// AllowCrossNamespaceReferences lets namespaced Objects refer to what is not in their namespace.
	AllowCrossNamespaceReferences bool
	// References follows the references of Objects of both scopes. Setup of package controller makes it.
	References *reference.Resolver
	// RemoveManagedFields keeps managed fields out of status.
	RemoveManagedFields bool

	// PublishedResourceSelector selects the PublishedResources that are reconciled, nil for all. StateNamespace is
	// where their states are, and PublishedResourceConfig the ProviderConfig they use, if they do not say.
	PublishedResourceSelector labels.Selector
	StateNamespace            string
	PublishedResourceConfig   string
	// LegacyFieldManagers are the field managers, beside those provider-kubernetes is known to use, whose client-side
	// applied fields are ours.
	LegacyFieldManagers []string
	// Index finds the Objects of both scopes.
	Index *Index
}

// Setup adds the controller of Objects of one scope to a manager.
func Setup[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	name := managed.ControllerName(k.GVK.GroupKind().String())
	m := managedadapter.NewManager(mgr)
	c := &reconciler[T]{
		kind: k, controller: name, registry: o.Registry, options: o, local: m.GetClient(),
		early: deletedearly.NewObjects[T](managed.FinalizerName), writes: managedadapter.NewCoalescer(),
		events: managedadapter.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name),
			o.EventFilterFunctions...)).Limited(isOutageEvent),
	}
	c.managed = newManaged(m, c)
	if err := o.Index.include(mgr, k.New(), k.NewList); err != nil {
		return errors.Wrapf(err, "cannot index Objects for controller %s", name)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Sharing(o.Options, mgr.GetCache(), k.New, k.Key)).
		For(k.New(), builder.WithPredicates(managedadapter.DesiredStateChanged())).
		Watches(k.New(), c.early.Handler()).
		Watches(k.New(), o.References.Handler(k.GVK)).
		WatchesRawSource(handlers.TargetsOf(o.Registry, name, 0, objectOfOwner))
	for _, config := range k.Configs {
		b = b.Watches(config.New(), handlers.Users(o.Registry, config))
	}
	if err := b.Complete(c); err != nil {
		return errors.Wrapf(err, "cannot set up controller %s", name)
	}
	return addStateMetrics(mgr, o, k)
}

func newManaged[T Object](m managedadapter.Manager, c *reconciler[T]) *managed.Reconciler {
	o := c.options
	opts := []managed.ReconcilerOption{
		managed.WithExternalConnector(c),
		managed.WithLogger(o.Logger.WithValues("controller", c.controller)),
		managed.WithRecorder(c.events),
		managed.WithPollInterval(o.PollInterval),
		managed.WithPollIntervalHook(pollHook(o.PollJitter)),
		managed.WithInitializers(c),
		managed.WithReferenceResolver(c),
		managed.WithFinalizer(c),
		managed.WithCriticalAnnotationUpdater(managedadapter.CriticalAnnotations{}),
		managed.WithDeterministicExternalName(true),
	}
	if o.MetricOptions != nil {
		opts = append(opts, managed.WithMetricRecorder(o.MetricOptions.MRMetrics))
	}
	if o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(discreetLogger{next: o.ChangeLogOptions.ChangeLogger}))
	}
	if o.Features.Enabled(feature.EnableBetaManagementPolicies) {
		opts = append(opts, managed.WithManagementPolicies())
	}
	return managed.NewReconciler(m, resource.ManagedKind(c.kind.GVK), opts...)
}

// addStateMetrics makes a manager count the Objects of a scope that exist, are ready and are synced.
func addStateMetrics[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	if o.MetricOptions == nil || o.MetricOptions.MRStateMetrics == nil {
		return nil
	}
	r := statemetrics.NewMRStateRecorder(sharingClient{mgr.GetClient()}, o.Logger, o.MetricOptions.MRStateMetrics,
		k.NewList(),
		o.MetricOptions.PollStateMetricInterval)
	return errors.Wrap(mgr.Add(r), "cannot add state metrics")
}

// A sharingClient lists without copying what the cache holds. The recorder of crossplane-runtime lists all resources
// each few seconds and only reads them; copies of ten thousand Objects would be its memory and most of an idle
// provider's CPU.
type sharingClient struct{ client.Client }

// List lists shared objects, which must not be changed.
func (c sharingClient) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	return c.Client.List(ctx, list, append(o, client.UnsafeDisableDeepCopy)...)
}
