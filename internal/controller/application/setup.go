package application

import (
	"context"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// gather is how long events of resources are gathered before their application looks.
	gather = 50 * time.Millisecond
	// indexController is the index of resources by the UIDs of their controllers.
	indexController = "controller"
)

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options) error {
	base, b := targetresource.NewBase(mgr, o, scope.Applications(mgr.GetClient()), "workload")
	r := &Reconciler{
		Base:       base,
		chosen:     map[types.NamespacedName]workloadv1alpha1.ClusterReference{},
		considered: map[types.NamespacedName][]informer.Owner{},
	}
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &resource{}, indexController, controllerOf)
	if err != nil {
		return errors.Wrap(err, "cannot index resources by their controllers")
	}
	controllers := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &application{},
		handler.OnlyControllerOwner())
	b = b.Watches(&resource{}, handlers.Gathered(controllers, gather, gather)).
		Watches(&resource{}, handlers.Gathered(handler.EnqueueRequestsFromMapFunc(r.makers), gather, gather),
			builder.WithPredicates(left())).
		WatchesRawSource(handlers.TargetsOf(o.Registry, r.Controller, gather, applicationOf))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), r.waiting(), builder.WithPredicates(managedadapter.DesiredStateChanged()))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", r.Controller)
}

// controllerOf returns the UID of the controller of a resource, nil if it has none.
func controllerOf(o client.Object) []string {
	c := metav1.GetControllerOf(o)
	if c == nil {
		return nil
	}
	return []string{string(c.UID)}
}

// makers returns those for the applications that have a template of the name of a resource.
func (r *Reconciler) makers(ctx context.Context, o client.Object) []reconcile.Request {
	return r.requests(ctx, o.GetNamespace(), func(app *application) bool { return makes(app, o) })
}

// left lets pass that a resource goes, or that the garbage collector orphans it.
func left() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(ctrlevent.CreateEvent) bool { return false },
		UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
			return metav1.GetControllerOf(e.ObjectOld) != nil && metav1.GetControllerOf(e.ObjectNew) == nil
		},
	}
}
