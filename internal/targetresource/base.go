package targetresource

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
)

// A Base is what reconcilers of resources on targets have in common.
type Base[T client.Object] struct {
	Core

	Kind scope.Kind[T]
}

// A Core is what of a Base does not depend on the kind.
type Core struct {
	Controller string // its name
	Manager    managedadapter.Manager
	Registry   *clusters.Registry
	Local      client.Client
	Events     managedadapter.Recorder
	Poll       managedadapter.Poll
}

// NewBase returns the Base of the reconciler of a kind, and what its controller is built with. The area begins the name
// of the controller.
func NewBase[T client.Object](mgr ctrl.Manager, o Options, k scope.Kind[T], area string) (Base[T], *builder.Builder) {
	core, b := newCore(mgr, o, area+"/"+strings.ToLower(k.GVK.GroupKind().String()), k.New())
	return Base[T]{Core: core, Kind: k}, b.WithOptions(Sharing(o, mgr.GetCache(), k.New, k.Key))
}

// newCore is not generic: Go 1.26 confuses closures that are inlined into an instance which several packages share.
func newCore(mgr ctrl.Manager, o Options, name string, kind client.Object) (Core, *builder.Builder) {
	m := managedadapter.NewManager(mgr)
	recorder := event.NewAPIRecorder(mgr.GetEventRecorderFor(name), o.EventFilterFunctions...)
	core := Core{
		Controller: name, Manager: m, Registry: o.Registry, Local: m.GetClient(),
		Events: managedadapter.NewRecorder(recorder),
		Poll:   managedadapter.Poll{Interval: o.PollInterval, Jitter: o.PollJitter},
	}
	return core, ctrl.NewControllerManagedBy(mgr).Named(name).
		For(kind, builder.WithPredicates(handlers.InSlot(o.Registry, m.Changed())))
}

// Owner returns the owner of what a resource has of clusters.
func (c Core) Owner(n types.NamespacedName) informer.Owner {
	return informer.Owner{Controller: c.Controller, NamespacedName: n}
}

// Begin has a resource reconciled, or forgotten if it is gone or in the slot of another replica. One that is paused
// says so.
func (b Base[T]) Begin(ctx context.Context, n types.NamespacedName, forget func(types.NamespacedName),
	do func(context.Context, T) (reconcile.Result, error),
) (reconcile.Result, error) {
	o := b.Kind.New()
	err := b.Local.Get(ctx, n, o)
	switch {
	case apierrors.IsNotFound(err), err == nil && !handlers.Responsible(b.Registry, o):
		forget(n)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, errors.Wrapf(err, "cannot get %s %q", b.Kind.GVK.Kind, n.Name)
	case meta.IsPaused(o):
		return reconcile.Result{}, managedadapter.Tell(ctx, b.Local, o, managedadapter.Paused())
	}
	return do(ctx, o)
}
