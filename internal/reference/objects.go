package reference

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

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
	NewList func() client.ObjectList
}

// An objectInterest is an interest in an Object, or in those a selector selects.
type objectInterest struct {
	types.NamespacedName

	kind     schema.GroupKind
	selector string
}

// A fieldInterest is a want of somebody who may read a field.
type fieldInterest struct {
	objectInterest

	field string // empty if none is read
}

// objects are the Objects of the manager's cache, and who wants to be told of their changes.
type objects struct {
	cache client.Reader
	kinds map[schema.GroupKind]Kind
	wake  func(informer.Owner)

	mu        sync.Mutex
	served    map[schema.GroupKind]bool
	wants     map[informer.Owner][]fieldInterest
	owners    map[objectInterest]map[informer.Owner]string // with their finalizers
	fields    map[objectInterest]map[string]int            // that references read, with how many do
	selectors map[objectInterest]labels.Selector           // of the wants that have one
}

func newObjects(o Options) *objects {
	kinds := map[schema.GroupKind]Kind{}
	for _, k := range o.Kinds {
		kinds[k.GVK.GroupKind()] = k
	}
	return &objects{
		cache: o.Cache, kinds: kinds, wake: o.Wake, served: map[schema.GroupKind]bool{},
		wants: map[informer.Owner][]fieldInterest{}, owners: map[objectInterest]map[informer.Owner]string{},
		fields:    map[objectInterest]map[string]int{},
		selectors: map[objectInterest]labels.Selector{},
	}
}

// serve tells that the control plane serves a kind.
func (s *objects) serve(gk schema.GroupKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[gk] = true
}

// isServed reports whether the control plane serves a kind. If not, the cache cannot be asked for it.
func (s *objects) isServed(gk schema.GroupKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[gk]
}

// track makes wants all that an owner is told of, who pins with a finalizer.
func (s *objects) track(o informer.Owner, finalizer string, wants []fieldInterest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wants[o] {
		s.drop(w, o)
	}
	delete(s.wants, o)
	if len(wants) == 0 {
		return
	}
	s.wants[o] = wants
	for _, w := range wants {
		s.add(w, o, finalizer)
	}
}

// add begins an interest. The caller holds the lock.
func (s *objects) add(n fieldInterest, o informer.Owner, finalizer string) {
	w := n.objectInterest
	if s.owners[w] == nil {
		s.owners[w] = map[informer.Owner]string{}
	}
	s.owners[w][o] = finalizer
	if n.field != "" {
		if s.fields[w] == nil {
			s.fields[w] = map[string]int{}
		}
		s.fields[w][n.field]++
	}
	if selector, err := labels.Parse(w.selector); err == nil && w.selector != "" {
		s.selectors[w] = selector
	}
}

// drop ends an interest. The caller holds the lock.
func (s *objects) drop(n fieldInterest, o informer.Owner) {
	w := n.objectInterest
	delete(s.owners[w], o)
	if len(s.owners[w]) == 0 {
		delete(s.owners, w)
		delete(s.selectors, w)
	}
	if n.field == "" {
		return
	}
	if s.fields[w][n.field]--; s.fields[w][n.field] == 0 {
		delete(s.fields[w], n.field)
	}
	if len(s.fields[w]) == 0 {
		delete(s.fields, w)
	}
}

// get returns a shared Object, nil if there is none. It must not be changed.
func (s *objects) get(ctx context.Context, gk schema.GroupKind, n types.NamespacedName) (Object, error) {
	if !s.isServed(gk) {
		return nil, nil //nolint:nilnil // None is no error.
	}
	o := s.kinds[gk].New()
	err := s.cache.Get(ctx, n, o, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // None is no error.
	}
	return o, errors.Wrapf(err, "cannot get %s", describe(gk.Kind, n))
}

// list returns the shared Objects of a namespace that options select. They must not be changed.
func (s *objects) list(ctx context.Context, gk schema.GroupKind, o ...client.ListOption) ([]Object, error) {
	if !s.isServed(gk) {
		return nil, nil
	}
	l := s.kinds[gk].NewList()
	if err := s.cache.List(ctx, l, append(o, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, errors.Wrapf(err, "cannot list %s", gk)
	}
	items, err := meta.ExtractList(l)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read list of %s", gk)
	}
	var objs []Object
	for _, i := range items {
		if o, ok := i.(Object); ok {
			objs = append(objs, o)
		}
	}
	return objs, nil
}

// lookup returns the Objects that a want is about.
func (s *objects) lookup(ctx context.Context, w objectInterest) ([]Object, error) {
	if w.selector == "" {
		o, err := s.get(ctx, w.kind, w.NamespacedName)
		if o == nil || err != nil {
			return nil, err
		}
		return []Object{o}, nil
	}
	selector, err := labels.Parse(w.selector)
	if err != nil {
		return nil, errors.Wrap(err, "cannot parse selector")
	}
	return s.list(ctx, w.kind, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: selector})
}

// changed wakes those who want to know of an Object, or only those with some finalizers unless that is nil.
func (s *objects) changed(gk schema.GroupKind, only []string, states ...client.Object) {
	woken := map[informer.Owner]string{}
	s.mu.Lock()
	for _, o := range states {
		maps.Copy(woken, s.owners[objectInterest{kind: gk, NamespacedName: client.ObjectKeyFromObject(o)}])
	}
	for w, selector := range s.selectors {
		if w.kind == gk && selects(w, selector, states) {
			maps.Copy(woken, s.owners[w])
		}
	}
	s.mu.Unlock()
	for o, finalizer := range woken {
		if only == nil || slices.Contains(only, finalizer) {
			s.wake(o)
		}
	}
}

func selects(w objectInterest, selector labels.Selector, states []client.Object) bool {
	return slices.ContainsFunc(states, func(o client.Object) bool {
		return o.GetNamespace() == w.Namespace && selector.Matches(labels.Set(o.GetLabels()))
	})
}

// handler hears of changes of one kind.
func (s *objects) handler(gk schema.GroupKind) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { s.changed(gk, nil, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				s.changed(gk, pinsChanged(e.ObjectOld, e.ObjectNew), e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { s.changed(gk, nil, e.Object) },
	}
}

// pinsChanged returns the finalizers of dependents by which two states of an Object differ, nil if they differ in
// anything else. To other dependents such a change means nothing.
func pinsChanged(was, is client.Object) []string {
	had, has := was.GetFinalizers(), is.GetFinalizers()
	isIn := func(all []string) func(string) bool { return func(f string) bool { return slices.Contains(all, f) } }
	changed := append(slices.DeleteFunc(slices.Clone(has), isIn(had)),
		slices.DeleteFunc(slices.Clone(had), isIn(has))...)
	foreign := func(f string) bool { return !strings.HasPrefix(f, commonv1.FinalizerReferredPrefix) }
	if len(changed) == 0 || slices.ContainsFunc(changed, foreign) {
		return nil
	}
	same, ok := is.DeepCopyObject().(client.Object)
	if !ok {
		return nil
	}
	same.SetFinalizers(had)
	same.SetResourceVersion(was.GetResourceVersion())
	same.SetManagedFields(was.GetManagedFields())
	if !equality.Semantic.DeepEqual(was, same) {
		return nil
	}
	return changed
}

// content returns the content of an Object as it is in JSON.
func content(o Object, gvk schema.GroupVersionKind) (map[string]any, error) {
	c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot read %s", describe(gvk.Kind, client.ObjectKeyFromObject(o)))
	}
	c["apiVersion"], c["kind"] = gvk.GroupVersion().String(), gvk.Kind
	return c, nil
}
