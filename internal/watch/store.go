package watch

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// A store holds the newest known state of each resource of one stream. It never goes back: an older resource version than the one
// held, or than the deletion seen, is ignored.
type store struct {
	// changed is called, without the lock, with the name of each resource whose state changed.
	changed func(types.NamespacedName)
	// filled is called, without the lock, after each list.
	filled func()

	mu    sync.RWMutex
	items map[types.NamespacedName]*unstructured.Unstructured
	seen  uint64 // the newest resource version the stream has delivered
}

var _ cache.ReflectorStore = &store{}

func newStore(changed func(types.NamespacedName), filled func()) *store {
	return &store{changed: changed, filled: filled, items: map[types.NamespacedName]*unstructured.Unstructured{}}
}

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// version returns a resource version as a number; what is none counts as 0, which never outranks anything.
func version(rv string) uint64 {
	v, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// get returns the shared copy of a resource, nil if it is not there.
func (s *store) get(n types.NamespacedName) *unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[n]
}

// put adds the answer to a write, unless the stream has already told a later story. It wakes nobody.
func (s *store) put(u *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, n := version(u.GetResourceVersion()), nameOf(u)
	held, ok := s.items[n]
	if ok && version(held.GetResourceVersion()) >= v {
		return
	}
	// What the stream has passed and does not hold is gone, or has lost our label.
	if !ok && s.seen >= v {
		return
	}
	s.items[n] = u
}

// Add records a resource the stream delivered.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update records a resource the stream delivered.
func (s *store) Update(obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if ok && s.record(u) {
		s.changed(nameOf(u))
	}
	return nil
}

func (s *store) record(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, n := version(u.GetResourceVersion()), nameOf(u)
	s.seen = max(s.seen, v)
	if held, ok := s.items[n]; ok && v > 0 && version(held.GetResourceVersion()) >= v {
		return false
	}
	s.items[n] = u
	return true
}

// Delete forgets a resource the stream reports as gone, or as no longer selected.
func (s *store) Delete(obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if ok && s.remove(u) {
		s.changed(nameOf(u))
	}
	return nil
}

func (s *store) remove(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, n := version(u.GetResourceVersion()), nameOf(u)
	s.seen = max(s.seen, v)
	held, ok := s.items[n]
	if !ok || version(held.GetResourceVersion()) > v {
		return false
	}
	delete(s.items, n)
	return true
}

// Replace takes over a list. Resources written since the list was made are kept.
func (s *store) Replace(list []any, rv string) error {
	changed := s.replace(list, version(rv))
	for _, n := range changed {
		s.changed(n)
	}
	s.filled()
	return nil
}

func (s *store) replace(list []any, seen uint64) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = max(s.seen, seen)
	var changed []types.NamespacedName
	items := make(map[types.NamespacedName]*unstructured.Unstructured, len(list))
	for _, obj := range list {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		n := nameOf(u)
		items[n] = u
		held, ok := s.items[n]
		if ok && version(held.GetResourceVersion()) > version(u.GetResourceVersion()) {
			items[n] = held
		}
		if !ok || held.GetResourceVersion() != u.GetResourceVersion() {
			changed = append(changed, n)
		}
	}
	for n, held := range s.items {
		if _, ok := items[n]; ok {
			continue
		}
		if version(held.GetResourceVersion()) > seen {
			items[n] = held
			continue
		}
		changed = append(changed, n)
	}
	s.items = items
	return changed
}

// Resync does nothing: whoever wants to look again does so by its own clock.
func (s *store) Resync() error { return nil }
