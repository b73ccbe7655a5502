package reference

import (
	"context"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// indexReferences is the index of the cache by which the Objects are found that refer to an Object.
const indexReferences = "references"

// IndexName is the index of the cache by which Objects are found by their names, in all namespaces. API servers select
// by the same field.
const IndexName = "metadata.name"

// An Object of either scope.
type Object interface {
	client.Object
	// Desired returns the desired state, never nil.
	Desired() *commonv1.ObjectSpec
	// Observed returns what was last seen on the target, never nil.
	Observed() *commonv1.ObjectObservation
}

// A Kind is the kind of Objects in one scope.
type Kind struct {
	// GVK of the kind, in the version the cache holds.
	GVK schema.GroupVersionKind
	// Namespaced reports whether the Objects live in namespaces.
	Namespaced bool
	// New returns an empty Object, and NewList an empty list.
	New     func() Object
	NewList func() resource.ManagedList
}

// A Referrer is an Object whose references are followed.
type Referrer struct {
	Object

	// GVK is the kind of the Object.
	GVK schema.GroupVersionKind
}

// owner returns who is woken when something that is referred to changes: the controller of the Object.
func (f Referrer) owner() informer.Owner {
	return informer.Owner{
		Controller: managed.ControllerName(f.GVK.GroupKind().String()), NamespacedName: client.ObjectKeyFromObject(f),
	}
}

// finalizer returns the finalizer on all that an Object refers to.
func (f Referrer) finalizer() string { return commonv1.FinalizerReferredPrefix + string(f.GetUID()) }

// hasResource reports whether an Object has made or adopted its resource: then it waits for no more than what it reads.
func (f Referrer) hasResource() bool { return len(f.Observed().Manifest.Raw) > 0 }

// node returns the place of an Object in the graph of references.
func (f Referrer) node() node { return node{f.GVK.GroupKind(), client.ObjectKeyFromObject(f)} }

// Serve tells that the control plane serves a kind of Objects, and makes the cache find them by what they refer to.
// Until then there are none. A kind that is served when the first controller starts must be told of before, or who
// keeps an Object may be taken for gone.
func (r *Resolver) Serve(ctx context.Context, i client.FieldIndexer, gk schema.GroupKind) error {
	k := r.kinds[gk]
	err := i.IndexField(ctx, k.New(), indexReferences, func(o client.Object) []string {
		if o, ok := o.(Object); ok {
			return r.keys(Referrer{Object: o, GVK: k.GVK})
		}
		return nil
	})
	if err == nil {
		err = i.IndexField(ctx, k.New(), IndexName, func(o client.Object) []string { return []string{o.GetName()} })
	}
	if err != nil {
		return errors.Wrapf(err, "cannot index %s", gk)
	}
	r.served.Store(gk, nil)
	return nil
}

// keys returns the keys of all that an Object refers to or has pinned.
func (r *Resolver) keys(f Referrer) []string {
	var keys []string
	for _, ref := range r.edges(f) {
		keys = append(keys, ref.key())
	}
	for _, p := range f.Observed().References {
		keys = append(keys, pinned(p).key())
	}
	return keys
}

// references returns all references of an Object. Those to Objects name them alike, in whatever version they ask for
// them.
func (r *Resolver) references(f Referrer) []Reference {
	refs := Normalise(f.Desired(), Rules{
		GVK: f.GVK, Namespace: f.GetNamespace(), CrossNamespace: r.options.CrossNamespace,
	})
	for i := range refs {
		k, ok := r.kinds[refs[i].GVK.GroupKind()]
		if !ok {
			continue
		}
		refs[i].GVK = k.GVK
		if !k.Namespaced {
			refs[i].Namespace = ""
		}
	}
	return refs
}

// edges returns the references of an Object that can be followed to Objects.
func (r *Resolver) edges(f Referrer) []Reference {
	return slices.DeleteFunc(r.references(f), func(ref Reference) bool { return ref.Err != nil || !r.has(ref.node()) })
}

func (r *Resolver) has(n node) bool {
	_, ok := r.kinds[n.kind]
	return ok
}

// lookup returns the Object of a node, or those of its namespace that a selector selects. They are shared, and must not
// be changed.
func (r *Resolver) lookup(ctx context.Context, n node, selector labels.Selector) ([]Referrer, error) {
	k := r.kinds[n.kind]
	if n.name.Name == "" {
		return r.list(ctx, k, client.InNamespace(n.name.Namespace), client.MatchingLabelsSelector{Selector: selector})
	}
	if _, ok := r.served.Load(n.kind); !ok {
		return nil, nil
	}
	o := k.New()
	err := r.options.Cache.Get(ctx, n.name, o, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return []Referrer{{Object: o, GVK: k.GVK}}, errors.Wrapf(err, "cannot get %s", describe(n.kind.Kind, n.name))
}

// List returns the Objects of all kinds that options select. They are shared, and must not be changed.
func (r *Resolver) List(ctx context.Context, o ...client.ListOption) (all []client.Object, err error) {
	for _, k := range r.kinds {
		found, err := r.list(ctx, k, o...)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			all = append(all, f.Object)
		}
	}
	return all, nil
}

// list returns the shared Objects of a kind that options select.
func (r *Resolver) list(ctx context.Context, k Kind, o ...client.ListOption) ([]Referrer, error) {
	if _, ok := r.served.Load(k.GVK.GroupKind()); !ok {
		return nil, nil
	}
	l := k.NewList()
	if err := r.options.Cache.List(ctx, l, append(o, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, errors.Wrapf(err, "cannot list %s", k.GVK.GroupKind())
	}
	var all []Referrer
	for _, mg := range l.GetItems() {
		all = append(all, Referrer{Object: mg.(Object), GVK: k.GVK}) //nolint:forcetypeassert // The kind is one of Objects.
	}
	return all, nil
}

// referrers returns the Objects that refer to an Object in any of some states, or have pinned it.
func (r *Resolver) referrers(ctx context.Context, gk schema.GroupKind, states ...client.Object) ([]Referrer, error) {
	at := node{gk, client.ObjectKeyFromObject(states[0])}
	around := node{gk, types.NamespacedName{Namespace: at.name.Namespace}}
	selects := func(ref Reference) bool {
		return slices.ContainsFunc(states, func(o client.Object) bool { return ref.selects(gk, o) })
	}
	keys := sets.New(at.key(), around.key()+"?")
	for _, o := range states {
		for label, v := range o.GetLabels() {
			keys.Insert(around.key() + "?" + label + "=" + v)
		}
	}
	var all []Referrer
	for _, k := range r.kinds {
		for key := range keys {
			found, err := r.list(ctx, k, client.MatchingFields{indexReferences: key})
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(found,
				func(f Referrer) bool { return key != at.key() && !slices.ContainsFunc(r.edges(f), selects) })...)
		}
	}
	return all, nil
}

// Reads reports whether somebody refers to an Object and reads a field of it that differs between two states of it, or
// waits for its health or for a query, which may be about any field.
func (r *Resolver) Reads(gvk schema.GroupVersionKind, was, is Object) bool {
	at := node{gvk.GroupKind(), client.ObjectKeyFromObject(is)}
	readers, err := r.referrers(context.Background(), at.kind, is)
	if err != nil || len(readers) == 0 {
		return err != nil // It is safer to show it.
	}
	before, now := content(was, gvk), content(is, gvk)
	differs := func(f Referrer, ref Reference) bool {
		if ref.From == "" {
			return ref.node() == at && ref.inspects(f)
		}
		if ref.node() != at && !ref.selects(at.kind, is) {
			return false
		}
		a, had, _ := read(before, ref.From)
		b, has, _ := read(now, ref.From)
		return had != has || !equality.Semantic.DeepEqual(a, b)
	}
	return slices.ContainsFunc(readers, func(f Referrer) bool {
		return slices.ContainsFunc(r.edges(f), func(ref Reference) bool { return differs(f, ref) })
	})
}

// content returns the content of an Object as it is in JSON.
func content(o Object, gvk schema.GroupVersionKind) map[string]any {
	c, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(o) // It comes from JSON.
	c["apiVersion"], c["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return c
}

// Handler hears of changes of one kind of Objects, and wakes those that refer to them.
func (r *Resolver) Handler(gvk schema.GroupVersionKind) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	gk := gvk.GroupKind()
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, _ queue) { r.wakeReferrers(ctx, gk, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, _ queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				r.wakeReferrers(ctx, gk, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ queue) {
			r.others.Delete(node{gk, client.ObjectKeyFromObject(e.Object)})
			r.wakeReferrers(ctx, gk, e.Object)
		},
	}
}

// wakeReferrers wakes those who refer to an Object in any of its states. If two states that the cache holds whole
// differ in nothing but finalizers, only those are woken whose finalizers they are. If the cache fails, the next poll
// tells.
func (r *Resolver) wakeReferrers(ctx context.Context, gk schema.GroupKind, states ...client.Object) {
	all, _ := r.referrers(ctx, gk, states...)
	if len(all) > 0 && len(states) > 1 && r.options.Owned(states[1]) && onlyFinalizers(states[0], states[1]) {
		has := func(o client.Object, f Referrer) bool { return slices.Contains(o.GetFinalizers(), f.finalizer()) }
		all = slices.DeleteFunc(all, func(f Referrer) bool { return has(states[0], f) == has(states[1], f) })
	}
	for _, f := range all {
		r.options.Wake(f.owner())
	}
}

// onlyFinalizers reports whether two states of an Object differ in nothing but finalizers.
func onlyFinalizers(was, is client.Object) bool {
	same := is.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy of one.
	same.SetFinalizers(was.GetFinalizers())
	same.SetResourceVersion(was.GetResourceVersion())
	same.SetManagedFields(was.GetManagedFields())
	return equality.Semantic.DeepEqual(was, same)
}
