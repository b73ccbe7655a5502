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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

const (
	// gather is how long events of resources are gathered before their application looks.
	gather = 50 * time.Millisecond
	// indexTemplate is the index of applications by the names of their templates.
	indexTemplate = "template"
	// indexController is the index of resources by the UIDs of their controllers.
	indexController = "controller"
)

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o targetresource.Options) error {
	name := "workload/" + strings.ToLower(workloadv1alpha1.ApplicationGroupVersionKind.GroupKind().String())
	m := managedadapter.NewManager(mgr)
	r := &Reconciler{
		kind:       scope.Applications(mgr.GetClient()),
		controller: name, registry: o.Registry,
		local:  m.GetClient(),
		record: managedadapter.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)),
		poll:   managedadapter.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &application{}, indexTemplate, names); err != nil {
		return errors.Wrap(err, "cannot index applications by the names of their templates")
	}
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &resource{}, indexController, controllerOf)
	if err != nil {
		return errors.Wrap(err, "cannot index resources by their controllers")
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Retrying(o)).
		For(&application{}, builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed()))).
		Watches(&resource{}, r.users()).
		WatchesRawSource(handlers.Targets(o.Registry, name, gather)).
		Complete(managedadapter.Reconciler(r))
	return errors.Wrapf(err, "cannot set up controller %s", name)
}

// names returns the names of the templates of an application.
func names(o client.Object) []string {
	app, ok := o.(*application)
	if !ok {
		return nil
	}
	var out []string
	for _, t := range app.Spec.ResourceTemplates {
		out = append(out, t.Metadata.Name)
	}
	return out
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
		apps := &workloadv1alpha1.KubernetesApplicationList{}
		err := r.local.List(ctx, apps, client.InNamespace(o.GetNamespace()),
			client.MatchingFields{indexTemplate: o.GetName()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return // The cache is not there yet, and will bring all applications.
		}
		for i := range apps.Items {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&apps.Items[i])}, gather)
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
