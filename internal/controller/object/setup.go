package object

import (
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"

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
	opts := []managed.ReconcilerOption{
		managed.WithExternalConnector(c), managed.WithInitializers(c), managed.WithReferenceResolver(c),
		managed.WithFinalizer(c), managed.WithRecorder(c.events),
		managed.WithPollIntervalHook(func(mg resource.Managed, interval time.Duration) time.Duration {
			p := managedadapter.Poll{Interval: interval, Jitter: o.PollJitter}
			if !isReady(mg) {
				return p.Waiting()
			}
			return p.Settled()
		}),
	}
	if o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(discreetLogger{next: o.ChangeLogOptions.ChangeLogger}))
	}
	c.managed = managedadapter.NewReconciler(m, o.Options, k.GVK, opts...)
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
	return managedadapter.AddStateMetrics(mgr, o.Options, k.NewList())
}
