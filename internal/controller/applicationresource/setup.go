package applicationresource

import (
	"strings"

	xperrors "github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/lost"
	"github.com/crossplane-contrib/provider-kcp/internal/quiet"
	"github.com/crossplane-contrib/provider-kcp/internal/remote"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/wake"
)

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o remote.Options) error {
	name := "workload/" + strings.ToLower(workloadv1alpha1.ResourceGroupVersionKind.GroupKind().String())
	record := quiet.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...))
	lasting := lost.NewManager(mgr, lost.Options{
		Finalizer: workloadv1alpha1.FinalizerResource, Log: o.Logger.WithValues("controller", name), Record: record,
	})
	r := &Reconciler{
		kind:       scope.NewWorkload(mgr.GetClient(), workloadv1alpha1.ResourceGroupVersionKind),
		controller: name, registry: o.Registry, drift: remote.NewDrift(),
		local:  quiet.NewManager(lasting).GetClient(),
		record: record,
		poll:   quiet.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(remote.Retrying(o.Options)).
		For(&workloadv1alpha1.KubernetesApplicationResource{},
			builder.WithPredicates(predicate.Or(quiet.DesiredStateChanged(), quiet.FinalizerReleased()))).
		Watches(&workloadv1alpha1.KubernetesApplicationResource{}, lasting.Handler()).
		WatchesRawSource(wake.Targets(o.Registry, name, 0))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), wake.Users(o.Registry, c))
	}
	return errors.Wrapf(b.Complete(xperrors.WithSilentRequeueOnConflict(r)), "cannot set up controller %s", name)
}
