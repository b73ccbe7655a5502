package applicationresource

import (
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
	base, b := targetresource.NewBase(mgr, o, scope.ApplicationResources(mgr.GetClient()), "workload")
	r := &Reconciler{
		Base: base, early: deletedearly.NewObjects[*resource](workloadv1alpha1.FinalizerResource),
	}
	b = b.Watches(&resource{}, r.early.Handler(),
		builder.WithPredicates(handlers.InSlot(o.Registry, predicate.Funcs{}))).
		WatchesRawSource(handlers.Targets(o.Registry, r.Controller, 0))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), handlers.Users(o.Registry, c))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", r.Controller)
}
