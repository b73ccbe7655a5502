package scheduler

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options) error {
	name := "scheduler/" + strings.ToLower(workloadv1alpha1.ApplicationGroupVersionKind.GroupKind().String())
	m := managedadapter.NewManager(mgr)
	r := &Reconciler{
		kind:       scope.Applications(mgr.GetClient()),
		controller: name, registry: o.Registry,
		local: m.GetClient(),
		record: managedadapter.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name),
			o.EventFilterFunctions...)),
		poll:       managedadapter.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
		chosen:     map[types.NamespacedName]workloadv1alpha1.ClusterReference{},
		considered: map[types.NamespacedName][]informer.Owner{},
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Sharing(o, mgr.GetCache(), r.kind.New, r.kind.Key)).
		For(&workloadv1alpha1.KubernetesApplication{}, builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed()))).
		WatchesRawSource(handlers.TargetsOf(o.Registry, name, 0, applicationOf))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), r.waiting(), builder.WithPredicates(predicate.Or(managedadapter.DesiredStateChanged(),
			predicate.LabelChangedPredicate{})))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", name)
}

// applicationOf returns the application that is connected to a cluster as an owner.
func applicationOf(owner types.NamespacedName) types.NamespacedName {
	owner.Name, _, _ = strings.Cut(owner.Name, "/")
	return owner
}

// waiting wakes all applications that wait for a cluster.
func (r *Reconciler) waiting() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, pc client.Object) []reconcile.Request {
		apps := &workloadv1alpha1.KubernetesApplicationList{}
		if err := r.local.List(ctx, apps, client.InNamespace(pc.GetNamespace()),
			client.UnsafeDisableDeepCopy); err != nil {
			return nil // The cache is not there yet, and will bring all applications.
		}
		var found []reconcile.Request
		for i := range apps.Items {
			if apps.Items[i].Spec.ClusterRef == nil {
				found = append(found, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])})
			}
		}
		return found
	})
}
