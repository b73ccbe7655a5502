package collection

import (
	"context"
	"slices"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/handlers"
	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/targetresource"
)

// Setup adds the controller of collections of one scope to a manager.
func Setup[T Collection](mgr ctrl.Manager, o targetresource.Options, k scope.CollectionKind[T]) error {
	base, b := targetresource.NewBase(mgr, o, k.Kind, "collection")
	r := &Reconciler[T]{Base: base, kind: k}
	kind := k.GVK.GroupKind()
	err := mgr.GetFieldIndexer().IndexField(context.Background(), k.NewMember(), indexCollection,
		func(o client.Object) []string { return collectionsOf(o, kind) })
	if err != nil {
		return errors.Wrap(err, "cannot index members of collections")
	}
	b = b.Watches(k.NewMember(), members(kind)).
		WatchesRawSource(handlers.Targets(o.Registry, r.Controller, gather))
	return errors.Wrapf(b.Complete(managedadapter.Reconciler(r)), "cannot set up controller %s", r.Controller)
}

// A Collection is an ObservedObjectCollection of either scope.
type Collection interface {
	client.Object
	resource.Conditioned
	// Desired returns the desired state, never nil.
	Desired() *commonv1.ObservedObjectCollectionSpec
	// Observed returns the observed state, never nil.
	Observed() *commonv1.ObservedObjectCollectionStatus
}

// An object is an Object of either scope.
type object interface {
	client.Object
	Desired() *commonv1.ObjectSpec
	GetManagementPolicies() xpv2.ManagementPolicies
}

// indexCollection is the index of Objects by the names of the collections that own them or that their label names.
const indexCollection = "collection"

// gather is how long events of members and of selected resources are gathered before their collection looks: a thousand
// of them are a handful of looks.
const gather = 100 * time.Millisecond

// collectionsOf returns the names of the collections of a kind that own an Object or that its label names.
func collectionsOf(o client.Object, kind schema.GroupKind) []string {
	var names []string
	if name := o.GetLabels()[commonv1.LabelKeyCollection]; name != "" {
		names = append(names, name)
	}
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && gv.WithKind(ref.Kind).GroupKind() == kind && !slices.Contains(names, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	return names
}

// members wakes the collections of an Object when what counts of it changes, and the collection that waits for its name
// when it goes.
func members(kind schema.GroupKind) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(q queue, o client.Object, names ...string) {
		for _, name := range names {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}},
				gather)
		}
	}
	desired := managedadapter.DesiredStateChanged()
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e ctrlevent.CreateEvent, q queue) {
			wake(q, e.Object, collectionsOf(e.Object, kind)...)
		},
		UpdateFunc: func(_ context.Context, e ctrlevent.UpdateEvent, q queue) {
			if !desired.Update(e) && equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(),
				e.ObjectNew.GetOwnerReferences()) {
				return
			}
			wake(q, e.ObjectOld, collectionsOf(e.ObjectOld, kind)...)
			wake(q, e.ObjectNew, collectionsOf(e.ObjectNew, kind)...)
		},
		DeleteFunc: func(_ context.Context, e ctrlevent.DeleteEvent, q queue) {
			wake(q, e.Object, collectionsOf(e.Object, kind)...)
			if name, ok := collectionOf(e.Object.GetName()); ok {
				wake(q, e.Object, name)
			}
		},
	}
}
