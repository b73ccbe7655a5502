package collection

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/pkg/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"

	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// Setup adds the controller of collections of one scope to a manager.
func Setup[T Collection](mgr ctrl.Manager, o targetresource.Options, k scope.CollectionKind[T]) error {
	name := "collection/" + strings.ToLower(k.GVK.GroupKind().String())
	m := managedadapter.NewManager(mgr)
	r := &Reconciler[T]{
		kind: k, controller: name, registry: o.Registry, written: newWritten(),
		local:  m.GetClient(),
		record: managedadapter.NewRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)),
		poll:   managedadapter.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
	}
	if err := addIndex(context.Background(), mgr.GetFieldIndexer(), k.NewMember(), k.GVK.GroupKind()); err != nil {
		return errors.Wrap(err, "cannot index members of collections")
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WithOptions(targetresource.Sharing(o.Options, mgr.GetCache(), k.New, k.Key)).
		For(k.New(), builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed()))).
		Watches(k.NewMember(), members(k.GVK.GroupKind())).
		WatchesRawSource(handlers.Targets(o.Registry, name, gather))
	for _, c := range k.Configs {
		b = b.Watches(c.New(), handlers.Users(o.Registry, c))
	}
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", name)
}
