package publishedresource

import (
	"cmp"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/publication"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// gather is how long events from kcp and service clusters are gathered for one look. An APIExport of many tells each of
// them of each change.
const gather = 50 * time.Millisecond

// gatherObjects is how long changes of objects of consumers are gathered. As the owner who is woken of them the
// PublishedResource has another controller.
const (
	gatherObjects = time.Second
	objectsOf     = "objects of "
)

// Options of the controller, beside those all have that connect to targets, here workspaces and service clusters.
type Options struct {
	targetresource.Options

	// Selector selects the PublishedResources that are reconciled, by their labels. Nil selects all. Others are left to
	// another provider.
	Selector labels.Selector
	// StateNamespace is where states are if a spec does not say. The default is DefaultStateNamespace.
	StateNamespace string
	// DefaultConfig is the ClusterProviderConfig of PublishedResources that name none. The default is
	// scope.DefaultPublisherConfig.
	DefaultConfig string
}

// selects reports whether a PublishedResource is this provider's.
func (o Options) selects(obj client.Object) bool {
	return o.Selector == nil || o.Selector.Matches(labels.Set(obj.GetLabels()))
}

// Setup adds the controller of PublishedResources to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	name := managed.ControllerName(v1alpha1.PublishedResourceGroupVersionKind.GroupKind().String())
	m := managedadapter.NewManager(mgr)
	r := newReconciler(m.GetClient(), name, o)
	if err := mgr.Add(r.publications); err != nil {
		return errors.Wrap(err, "cannot register publications with the manager")
	}
	r.events = managedadapter.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...))
	r.managed = newManaged(m, o, r)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Retrying(o.Options)).
		For(&v1alpha1.PublishedResource{},
			builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed()))).
		WatchesRawSource(handlers.Targets(o.Registry, name, gather)).
		WatchesRawSource(handlers.Targets(o.Registry, objectsOf+name, gatherObjects)).
		Complete(r)
	return errors.Wrapf(err, "cannot set up controller %s", name)
}

func newReconciler(local client.Client, controller string, o Options) *reconciler {
	to := &connections{
		controller: controller, registry: o.Registry, publisher: scope.PublishedResources(local, o.DefaultConfig),
	}
	wake := func(name string) {
		n := types.NamespacedName{Name: name}
		o.Registry.WakeOwner(informer.Owner{Controller: objectsOf + controller, NamespacedName: n})
	}
	r := &reconciler{
		local: local, connections: to, memories: newMemories(), publications: publication.NewSupervisor(wake),
	}
	r.publisher = &publisher{local: local, connections: to, selects: o.selects, memories: r.memories}
	r.consumers = &consumers{
		connections: to, publications: r.publications, stateNamespace: cmp.Or(o.StateNamespace, DefaultStateNamespace),
	}
	r.withdrawal = &withdrawal{publisher: r.publisher, consumers: r.consumers}
	return r
}

func newManaged(m managedadapter.Manager, o Options, r *reconciler) *managed.Reconciler {
	opts := []managed.ReconcilerOption{
		managed.WithTypedExternalConnector(r), managed.WithInitializers(), managed.WithRecorder(r.events),
		managed.WithFinalizer(r),
		managed.WithPollJitterHook(time.Duration(o.PollJitter * float64(o.PollInterval))),
	}
	if o.ChangeLogOptions != nil {
		opts = append(opts, managed.WithChangeLogger(o.ChangeLogOptions.ChangeLogger))
	}
	return managedadapter.NewReconciler(m, o.Options.Options, v1alpha1.PublishedResourceGroupVersionKind, opts...)
}
