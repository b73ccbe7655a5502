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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
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
	b = b.Watches(k.NewMember(), handlers.Gathered(handler.EnqueueRequestsFromMapFunc(waking(kind)), gather, gather),
		builder.WithPredicates(predicate.Or(managedadapter.DesiredStateChanged(), disowned()))).
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

// waking returns what wakes the collections of a kind that an Object has.
func waking(kind schema.GroupKind) handler.MapFunc {
	return func(_ context.Context, o client.Object) (woken []reconcile.Request) {
		for _, name := range collectionsOf(o, kind) {
			n := types.NamespacedName{Namespace: o.GetNamespace(), Name: name}
			woken = append(woken, reconcile.Request{NamespacedName: n})
		}
		return woken
	}
}

// disowned lets pass updates that change the owners of an Object.
func disowned() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
	}}
}
