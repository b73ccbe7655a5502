package object

import (
	"context"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

const reasonCannotRecordUse event.Reason = "CannotRecordProviderConfigUse"

// SetupUsage adds the controller that records which ProviderConfig each Object of one scope uses. It writes one record
// at a time: records can wait, Objects cannot.
func SetupUsage[T Object](mgr ctrl.Manager, o Options, k scope.Kind[T]) error {
	name := "usage/" + k.GVK.GroupKind().String()
	events := event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)
	record := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		o := k.New()
		if err := mgr.GetClient().Get(ctx, req.NamespacedName, o); err != nil {
			return reconcile.Result{}, errors.Wrap(client.IgnoreNotFound(err), "cannot get Object")
		}
		// A record cannot be made again in a namespace that is going away:
		// https://github.com/crossplane/crossplane-runtime/issues/1113 Until the old resource of an Object that has
		// moved is dealt with, its record keeps the old ProviderConfig.
		if meta.WasDeleted(o) || moved(k, o) {
			return reconcile.Result{}, nil
		}
		err := k.Track(ctx, o)
		if err != nil {
			events.Event(o, event.Warning(reasonCannotRecordUse, err))
		}
		return reconcile.Result{}, err
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		For(k.New(), builder.WithPredicates(usageChanged(k))).
		Complete(reconcile.Func(record))
	return errors.Wrapf(err, "cannot set up controller %s", name)
}

// usageChanged matches Objects that are new, or that use another ProviderConfig than before.
func usageChanged[T Object](k scope.Kind[T]) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
			was, okWas := e.ObjectOld.(T)
			is, okIs := e.ObjectNew.(T)
			return okWas && okIs && (k.Ref(was) != k.Ref(is) || moved(k, was) != moved(k, is))
		},
		DeleteFunc: func(ctrlevent.DeleteEvent) bool { return false },
	}
}

// moved reports whether an Object refers to another ProviderConfig than it has last seen its resource through.
func moved[T Object](k scope.Kind[T], o T) bool {
	last := o.Observed().ProviderConfigReference
	return last != nil && *last != k.Ref(o)
}
