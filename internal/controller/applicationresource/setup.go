package applicationresource

import (
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	xperrors "github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/quiet"
	"github.com/crossplane-contrib/provider-kcp/internal/remote"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/wake"
)

const (
	// retryFirst and retryMax bound the pause before a failed resource is tried again, which doubles each time.
	retryFirst = 250 * time.Millisecond
	retryMax   = 2 * time.Second
)

// Options of the controller, beside those all controllers have.
type Options struct {
	controller.Options

	// Registry connects to the clusters.
	Registry *target.Registry
	// PollJitter is the fraction of the poll interval by which it varies.
	PollJitter float64
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	name := "workload/" + strings.ToLower(workloadv1alpha1.ResourceGroupVersionKind.GroupKind().String())
	r := &Reconciler{
		kind:       scope.NewWorkload(mgr.GetClient(), workloadv1alpha1.ResourceGroupVersionKind),
		controller: name, registry: o.Registry, drift: remote.NewDrift(),
		local:  quiet.NewManager(mgr).GetClient(),
		record: quiet.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)),
		poll:   quiet.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
	}
	opts := o.ForControllerRuntime()
	opts.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMax)
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(opts).
		For(&workloadv1alpha1.KubernetesApplicationResource{},
			builder.WithPredicates(predicate.Or(quiet.DesiredStateChanged(), quiet.FinalizerReleased()))).
		WatchesRawSource(wake.Targets(o.Registry, name, 0))
	for _, c := range scope.NamespacedScopeConfigs() {
		b = b.Watches(c.New(), wake.Users(o.Registry, c))
	}
	return errors.Wrapf(b.Complete(xperrors.WithSilentRequeueOnConflict(r)), "cannot set up controller %s", name)
}
