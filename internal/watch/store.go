package watch

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// A store holds the newest known state of each resource of one stream. It never goes back: an older resource version than the one
// held, or than the deletion seen, is ignored.
type store struct {
	// changed is called, without the lock, with the name of each resource whose state changed, and with the owner whose write changed
	// it, who knows already; none if it was not ours.
	changed func(n types.NamespacedName, by Owner)
	// filled is called, without the lock, after each list.
	filled func()
	// name returns the name that tells a resource from the others of the stream.
	name func(*unstructured.Unstructured) types.NamespacedName

	mu     sync.RWMutex
	items  map[types.NamespacedName]*unstructured.Unstructured
	index  *index // nil if nobody asks by namespace or key
	writes map[types.NamespacedName]*write
	seen   string // the newest resource version the stream has delivered
}

// A write is one or more writes of ours to a resource that are under way.
type write struct {
	count  int
	before string // the resource version when the first began
	heard  bool   // the stream has told of a change meanwhile
}

var _ cache.ReflectorStore = &store{}

func newStore(changed func(types.NamespacedName, Owner), filled func()) *store {
	return &store{
		changed: changed, filled: filled, name: nameOf,
		items:  map[types.NamespacedName]*unstructured.Unstructured{},
		writes: map[types.NamespacedName]*write{},
	}
}

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// annotationCluster is the annotation by which kcp tells the logical cluster of a resource.
const annotationCluster = "kcp.io/cluster"

// nameInCluster returns a name that is unique among the logical clusters of a virtual workspace.
func nameInCluster(u *unstructured.Unstructured) types.NamespacedName {
	n := nameOf(u)
	n.Namespace = u.GetAnnotations()[annotationCluster] + "/" + n.Namespace
	return n
}

// newer says whether resource version a is known to be newer than b.
func newer(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c > 0
}

// older says whether resource version a is known to be no newer than b.
func older(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c <= 0
}

// get returns the shared copy of a resource, nil if it is not there.
func (s *store) get(n types.NamespacedName) *unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[n]
}

// list returns the shared copies of all resources, sorted by name.
func (s *store) list() []*unstructured.Unstructured {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.SortedFunc(maps.Values(s.items), func(a, b *unstructured.Unstructured) int {
		return strings.Compare(s.name(a).String(), s.name(b).String())
	})
}

// begin says that a write of ours to a resource is under way: what the stream tells of it meanwhile may be the echo of that write, and
// is not passed on before end.
func (s *store) begin(n types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes[n] == nil {
		s.writes[n] = &write{before: s.heldVersion(n)}
	}
	s.writes[n].count++
}

// heldVersion returns the resource version of what is held, empty if nothing is. The caller holds the lock.
func (s *store) heldVersion(n types.NamespacedName) string {
	if held, ok := s.items[n]; ok {
		return held.GetResourceVersion()
	}
	return ""
}

// end says that a write of an owner is over, and what the server has answered, nil if nothing. A change is passed on to all but its
// author; to all if somebody else has changed the resource meanwhile.
func (s *store) end(n types.NamespacedName, by Owner, answer *unstructured.Unstructured) {
	changed, ours := s.finish(n, answer)
	switch {
	case changed && ours:
		s.changed(n, by)
	case changed:
		s.changed(n, Owner{})
	}
}

// finish ends a write and says whether the resource has changed since the writes began, and whether the answer is its last state.
func (s *store) finish(n types.NamespacedName, answer *unstructured.Unstructured) (changed, ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer != nil {
		s.put(n, answer)
	}
	w := s.writes[n]
	if w == nil {
		return false, false
	}
	if w.count--; w.count > 0 {
		w.heard = true // Whoever ends the last of them tells everyone.
		return false, false
	}
	delete(s.writes, n)
	held := s.heldVersion(n)
	ours = answer != nil && held == answer.GetResourceVersion()
	return w.heard || held != w.before, ours
}

// put adds the answer to a write, unless the stream has already told a later story. The caller holds the lock.
func (s *store) put(n types.NamespacedName, u *unstructured.Unstructured) {
	held, ok := s.items[n]
	if ok && !newer(u.GetResourceVersion(), held.GetResourceVersion()) {
		return
	}
	// What the stream has passed and does not hold is gone, or has lost our label.
	if !ok && older(u.GetResourceVersion(), s.seen) {
		return
	}
	s.set(n, u)
}

// told notes that the stream has told of a change, and says whether to pass that on now. The caller holds the lock.
func (s *store) told(n types.NamespacedName) bool {
	w := s.writes[n]
	if w != nil {
		w.heard = true
	}
	return w == nil
}

// pass notes the newest resource version of the stream. The caller holds the lock.
func (s *store) pass(rv string) {
	if s.seen == "" || newer(rv, s.seen) {
		s.seen = rv
	}
}

// Add records a resource the stream delivered.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update records a resource the stream delivered.
func (s *store) Update(obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if ok && s.record(u) {
		s.changed(s.name(u), Owner{})
	}
	return nil
}

func (s *store) record(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.name(u)
	s.pass(u.GetResourceVersion())
	if held, ok := s.items[n]; ok && older(u.GetResourceVersion(), held.GetResourceVersion()) {
		return false
	}
	s.set(n, u)
	return s.told(n)
}

// Delete forgets a resource the stream reports as gone, or as no longer selected.
func (s *store) Delete(obj any) error {
	u, ok := obj.(*unstructured.Unstructured)
	if ok && s.remove(u) {
		s.changed(s.name(u), Owner{})
	}
	return nil
}

func (s *store) remove(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.name(u)
	s.pass(u.GetResourceVersion())
	held, ok := s.items[n]
	if !ok || newer(held.GetResourceVersion(), u.GetResourceVersion()) {
		return false
	}
	s.set(n, nil)
	return s.told(n)
}

// Replace takes over a list. Resources written since the list was made are kept.
func (s *store) Replace(list []any, rv string) error {
	changed := s.replace(list, rv)
	for _, n := range changed {
		s.changed(n, Owner{})
	}
	s.filled()
	return nil
}

func (s *store) replace(list []any, rv string) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(rv)
	var changed []types.NamespacedName
	items := make(map[types.NamespacedName]*unstructured.Unstructured, len(list))
	for _, obj := range list {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		n := s.name(u)
		items[n] = u
		held, ok := s.items[n]
		if ok && newer(held.GetResourceVersion(), u.GetResourceVersion()) {
			items[n] = held
			continue
		}
		if (!ok || !equality.Semantic.DeepEqual(held.Object, u.Object)) && s.told(n) {
			changed = append(changed, n)
		}
	}
	for n, held := range s.items {
		if _, ok := items[n]; ok {
			continue
		}
		if newer(held.GetResourceVersion(), rv) {
			items[n] = held
			continue
		}
		if s.told(n) {
			changed = append(changed, n)
		}
	}
	s.setAll(items)
	return changed
}

// Resync does nothing: whoever wants to look again does so by its own clock.
func (s *store) Resync() error { return nil }
