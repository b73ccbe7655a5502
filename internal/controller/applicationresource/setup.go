package applicationresource

import (
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/deletedearly"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options) error {
	name := "workload/" + strings.ToLower(workloadv1alpha1.ResourceGroupVersionKind.GroupKind().String())
	record := managedadapter.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...))
	m := managedadapter.NewManager(mgr)
	r := &Reconciler{
		kind:       scope.ApplicationResources(mgr.GetClient()),
		controller: name, registry: o.Registry, drift: &targetresource.Drift{},
		local:  m.GetClient(),
		record: record,
		early:  deletedearly.NewObjects[*resource](workloadv1alpha1.FinalizerResource),
		poll:   managedadapter.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Sharing(o, mgr.GetCache(), r.kind.New, r.kind.Key)).
		For(&resource{}, builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed()))).
		Watches(&resource{}, r.early.Handler(),
			builder.WithPredicates(handlers.InSlot(o.Registry, predicate.Funcs{}))).
		WatchesRawSource(handlers.Targets(o.Registry, name, 0))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), handlers.Users(o.Registry, c))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", name)
}
