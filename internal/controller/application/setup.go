package application

import (
	"context"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
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
	name := "workload/" + strings.ToLower(workloadv1alpha1.ApplicationGroupVersionKind.GroupKind().String())
	m := managedadapter.NewManager(mgr)
	record := event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)
	r := &Reconciler{
		kind:       scope.Applications(mgr.GetClient()),
		controller: name, registry: o.Registry,
		local:      m.GetClient(),
		record:     managedadapter.NewRecorder(record),
		poll:       managedadapter.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
		chosen:     map[types.NamespacedName]workloadv1alpha1.ClusterReference{},
		considered: map[types.NamespacedName][]informer.Owner{},
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &resource{}, indexController,
		controllerOf); err != nil {
		return errors.Wrap(err, "cannot index resources by their controllers")
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Sharing(o.Options, mgr.GetCache(), r.kind.New, r.kind.Key)).
		For(&application{}, builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed()))).
		Watches(&resource{}, r.users()).
		WatchesRawSource(handlers.TargetsOf(o.Registry, name, gather, applicationOf))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), handler.EnqueueRequestsFromMapFunc(r.waiting), builder.WithPredicates(
			predicate.Or(managedadapter.DesiredStateChanged(), predicate.LabelChangedPredicate{})))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", name)
}

// waiting returns all applications that wait for a cluster, which a ProviderConfig may be.
func (r *Reconciler) waiting(ctx context.Context, pc client.Object) (found []reconcile.Request) {
	apps := &workloadv1alpha1.KubernetesApplicationList{}
	if err := r.local.List(ctx, apps, client.InNamespace(pc.GetNamespace())); err != nil {
		return nil // The cache is not there yet, and will bring all applications.
	}
	for i := range apps.Items {
		if apps.Items[i].Spec.ClusterRef == nil {
			found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
		}
	}
	return found
}

// controllerOf returns the UID of the controller of a resource, nil if it has none.
func controllerOf(o client.Object) []string {
	c := metav1.GetControllerOf(o)
	if c == nil {
		return nil
	}
	return []string{string(c.UID)}
}

// users wakes the application that controls a resource, or has controlled it. Nobody tells whose one without a
// controller was: when it goes, all applications of its namespace are woken.
func (r *Reconciler) users() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(o client.Object, q queue) {
		if c := metav1.GetControllerOf(o); c != nil && c.Kind == workloadv1alpha1.ApplicationGroupVersionKind.Kind {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{
				Namespace: o.GetNamespace(), Name: c.Name,
			}}, gather)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e ctrlevent.CreateEvent, q queue) { wake(e.Object, q) },
		UpdateFunc: func(_ context.Context, e ctrlevent.UpdateEvent, q queue) {
			wake(e.ObjectOld, q) // The garbage collector may have orphaned it.
			wake(e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e ctrlevent.DeleteEvent, q queue) {
			wake(e.Object, q)
			apps := &workloadv1alpha1.KubernetesApplicationList{}
			if metav1.GetControllerOf(e.Object) != nil ||
				r.local.List(ctx, apps, client.InNamespace(e.Object.GetNamespace())) != nil {
				return // If the cache is not there yet, it will bring all applications.
			}
			for i := range apps.Items {
				q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])}, gather)
			}
		},
	}
}
