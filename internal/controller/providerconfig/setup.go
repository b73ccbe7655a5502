package providerconfig

import (
	"cmp"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/providerconfig"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// gatherNew is how long new records of use are gathered before the users are counted.
	gatherNew = 3 * time.Second
	// gatherGone is how long vanished ones are, for which a deleted ProviderConfig may wait, and news of targets.
	gatherGone = 500 * time.Millisecond
	// countAgain is when the users of a deleted ProviderConfig are counted again. Their records wake before.
	countAgain = 10 * time.Second
)

// Setup adds the controller of one kind of ProviderConfig to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options, c scope.Config) error {
	name := providerconfig.ControllerName(c.Kinds.Config.GroupKind().String())
	r := &reconciler{
		client: mgr.GetClient(), registry: o.Registry, controller: name, config: c,
		events: event.NewAPIRecorder(mgr.GetEventRecorderFor(name)),
	}
	r.next = providerconfig.NewReconciler(managedadapter.NewManager(mgr), c.Kinds,
		providerconfig.WithLogger(o.Logger.WithValues("controller", name)),
		providerconfig.WithRecorder(r.events))
	return errors.Wrapf(ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(inTurns(o)).
		For(c.New(), builder.WithPredicates(handlers.InSlot(o.Registry, managedadapter.DesiredStateChanged()))).
		Watches(c.New(), handlers.Users(o.Registry, c)).
		Watches(c.NewUsage(), handlers.Gathered(
			&resource.EnqueueRequestForProviderConfig{Kind: c.Kinds.Config.Kind}, gatherNew, gatherGone)).
		WatchesRawSource(handlers.Targets(o.Registry, c.Kinds.Config.GroupKind().String(), gatherGone)).
		WatchesRawSource(handlers.Targets(o.Registry, name, 0)).
		Complete(r), "cannot set up controller %s", name)
}

// inTurns returns the options of a controller in which namespaces take turns. A ProviderConfig without one is alone.
func inTurns(o targetresource.Options) ctrlcontroller.Options {
	opts := o.ForControllerRuntime()
	flowOf := func(r reconcile.Request) (flow fairqueue.Flow, urgent bool) {
		return fairqueue.Flow{Tenant: cmp.Or(r.Namespace, r.Name)}, false
	}
	opts.NewQueue = fairqueue.ForController(opts.MaxConcurrentReconciles, flowOf)
	return opts
}
