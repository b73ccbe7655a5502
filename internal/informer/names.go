package informer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// pageSize is how many resources a page of a list holds.
const pageSize = 500

// selection is what the owners of a stream of names are registered for.
func selection(namespace string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace}
}

// names holds the name of each resource of one stream.
type names struct {
	// changed is called, without the lock, when a name comes or goes.
	changed func()
	// filled is called, without the lock, after each list.
	filled func()
	// wentBack is called, without the lock, after a list that shows that the server has gone back in its history.
	wentBack func()

	mu     sync.Mutex
	held   map[types.NamespacedName]struct{}
	order  []types.NamespacedName // held, sorted; nil if not known
	stream history
}

var (
	_ cache.ReflectorStore         = &names{}
	_ cache.ReflectorBookmarkStore = &names{}
)

func newNames(changed, filled, wentBack func()) *names {
	return &names{changed: changed, filled: filled, wentBack: wentBack, held: map[types.NamespacedName]struct{}{}}
}

// sorted returns all names.
func (s *names) sorted() []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.order == nil {
		s.order = make([]types.NamespacedName, 0, len(s.held))
		for n := range s.held {
			s.order = append(s.order, n)
		}
		slices.SortFunc(s.order, func(a, b types.NamespacedName) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return s.order
}

// Add records a resource the stream delivered.
func (s *names) Add(obj any) error { return s.Update(obj) }

// Update records a resource the stream delivered.
func (s *names) Update(obj any) error {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok && s.put(m) {
		s.changed()
	}
	return nil
}

// put adds a name and reports whether it is new.
func (s *names) put(m *metav1.PartialObjectMetadata) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := nameOfPartial(m)
	s.stream.advance(m.GetResourceVersion())
	if _, ok := s.held[n]; ok {
		return false
	}
	s.held[n], s.order = struct{}{}, nil
	return true
}

// Delete forgets a resource the stream reports as gone, or as no longer selected.
func (s *names) Delete(obj any) error {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok && s.remove(m) {
		s.changed()
	}
	return nil
}

// remove forgets a name and reports whether it was there.
func (s *names) remove(m *metav1.PartialObjectMetadata) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := nameOfPartial(m)
	s.stream.advance(m.GetResourceVersion())
	if _, ok := s.held[n]; !ok {
		return false
	}
	delete(s.held, n)
	s.order = nil
	return true
}

// Bookmark records how far the stream has come.
func (s *names) Bookmark(version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream.advance(version)
	return nil
}

// Replace takes over a list.
func (s *names) Replace(list []any, version string) error {
	changed, wentBack := s.replace(list, version)
	if wentBack {
		s.wentBack()
	}
	if changed {
		s.changed()
	}
	s.filled()
	return nil
}

// replace takes over a list. It reports whether a name has come or gone, and whether the server has gone back in its
// history.
func (s *names) replace(list []any, version string) (changed, wentBack bool) {
	held := make(map[types.NamespacedName]struct{}, len(list))
	for _, obj := range list {
		if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
			held[nameOfPartial(m)] = struct{}{}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = !maps.Equal(held, s.held)
	s.held, s.order = held, nil
	return changed, s.stream.begin(version)
}

// empty forgets all names.
func (s *names) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.order = map[types.NamespacedName]struct{}{}, nil
}

// Resync does nothing: owners look again by their own clocks.
func (s *names) Resync() error { return nil }

func nameOfPartial(m *metav1.PartialObjectMetadata) types.NamespacedName {
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
}

// nameSupervisor returns the watchSupervisor of a stream of the names of a selection.
func nameSupervisor(c metadata.Interface, key feedKey) *watchSupervisor {
	var r metadata.ResourceInterface = c.Resource(key.resource)
	if key.namespace != "" {
		r = c.Resource(key.resource).Namespace(key.namespace)
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = key.selector
			if o.ResourceVersion == "0" {
				o.ResourceVersion = "" // The reflector would be content with any state.
			}
			return r.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = key.selector
			return r.Watch(ctx, o)
		},
	}
	return &watchSupervisor{ListerWatcherWithContext: lw}
}

// nameReflector feeds the names of a selection into a store.
func nameReflector(key feedKey, into supervisedStore) *cache.Reflector {
	refl := cache.NewReflectorWithOptions(into.supervisor, &metav1.PartialObjectMetadata{}, into, reflectorOptions(key))
	refl.WatchListPageSize = pageSize
	return refl
}
