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
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// gather is how long events of resources are gathered before their application looks.
const gather = 50 * time.Millisecond

// indexOwner is the index of resources by the UID of their controller.
const indexOwner = "owner"

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options) error {
	base, b := targetresource.NewBase(mgr, o, scope.Applications(mgr.GetClient()), "workload")
	r := &Reconciler{
		Base:       base,
		chosen:     map[types.NamespacedName]workloadv1alpha1.ClusterReference{},
		considered: map[types.NamespacedName][]informer.Owner{},
	}
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &resource{}, indexOwner, func(o client.Object) []string {
		if c := metav1.GetControllerOf(o); c != nil {
			return []string{string(c.UID)}
		}
		return nil
	})
	if err != nil {
		return errors.Wrap(err, "cannot index resources of applications")
	}
	b = b.Watches(&resource{}, handlers.Gathered(handler.EnqueueRequestsFromMapFunc(maker), gather, gather)).
		WatchesRawSource(handlers.Targets(o.Registry, r.Controller, gather))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), handler.EnqueueRequestsFromMapFunc(r.waiting),
			builder.WithPredicates(managedadapter.DesiredStateChanged()))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", r.Controller)
}

// maker returns a request for the application that has made a resource, also if its controller reference is gone.
func maker(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetAnnotations()[workloadv1alpha1.AnnotationKeyApplicationName]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}
