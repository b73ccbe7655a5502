package application

import (
	"context"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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
	b = b.Watches(&resource{}, r.users()).
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

// users wakes the application that controls a resource and, when the resource goes or is orphaned, those that have a
// template of its name.
func (r *Reconciler) users() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(o client.Object, q queue) {
		if c := metav1.GetControllerOf(o); c != nil && c.Kind == workloadv1alpha1.ApplicationGroupVersionKind.Kind {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{
				Namespace: o.GetNamespace(), Name: c.Name,
			}}, gather)
		}
	}
	wakeAll := func(ctx context.Context, o client.Object, q queue) {
		for _, req := range r.requests(ctx, o.GetNamespace(), func(app *application) bool { return makes(app, o) }) {
			q.AddAfter(req, gather)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e ctrlevent.CreateEvent, q queue) { wake(e.Object, q) },
		UpdateFunc: func(ctx context.Context, e ctrlevent.UpdateEvent, q queue) {
			wake(e.ObjectNew, q)
			if metav1.GetControllerOf(e.ObjectOld) != nil && metav1.GetControllerOf(e.ObjectNew) == nil {
				wakeAll(ctx, e.ObjectNew, q) // The garbage collector has orphaned it.
			}
		},
		DeleteFunc: func(ctx context.Context, e ctrlevent.DeleteEvent, q queue) {
			wake(e.Object, q)
			wakeAll(ctx, e.Object, q)
		},
	}
}
