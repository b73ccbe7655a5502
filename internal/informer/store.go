package informer

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

// A store holds the newest known state of each resource of one stream: what the stream tells and, until that has come
// as far, what the answers to our own writes tell. A list is the truth as of its resource version, even if that is
// older than what was held before.
type store struct {
	// changed is called, without the lock, with the name of each resource whose state changed, and with the owner whose
	// write changed it, who knows already; none if it was not ours.
	changed func(n types.NamespacedName, by Owner)
	// filled is called, without the lock, after each list.
	filled func()
	// wentBack is called, without the lock, after a list that shows that the server has gone back in its history.
	wentBack func()
	// name returns the name that tells a resource from the others of the stream.
	name func(*unstructured.Unstructured) types.NamespacedName

	mu      sync.RWMutex
	items   map[types.NamespacedName]*unstructured.Unstructured
	index   *index // nil if nobody asks by namespace or key
	writes  map[types.NamespacedName]*write
	answers map[types.NamespacedName]*answer // of the items that the stream has not told of yet
	stream  history
}

var (
	_ cache.ReflectorStore         = &store{}
	_ cache.ReflectorBookmarkStore = &store{}
)

func newStore(changed func(types.NamespacedName, Owner), filled, wentBack func()) *store {
	return &store{
		changed: changed, filled: filled, wentBack: wentBack, name: nameOf,
		items:   map[types.NamespacedName]*unstructured.Unstructured{},
		writes:  map[types.NamespacedName]*write{},
		answers: map[types.NamespacedName]*answer{},
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

// newer reports whether resource version a is known to be newer than b.
func newer(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c > 0
}

// older reports whether resource version a is known to be no newer than b.
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

// heldVersion returns the resource version of what is held, empty if nothing is. The caller holds the lock.
func (s *store) heldVersion(n types.NamespacedName) string {
	if held, ok := s.items[n]; ok {
		return held.GetResourceVersion()
	}
	return ""
}

// Add records a resource the stream delivered.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update records a resource the stream delivered.
func (s *store) Update(obj any) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		s.pass(s.record(u, u))
	}
	return nil
}

// Delete forgets a resource the stream reports as gone, or as no longer selected.
func (s *store) Delete(obj any) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		s.pass(s.record(u, nil))
	}
	return nil
}

// remove forgets a resource that is known not to exist any more, unless its successor is held.
func (s *store) remove(n types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	held, ok := s.items[n]
	if !ok || held.GetUID() != uid {
		s.mu.Unlock()
		return
	}
	s.set(n, nil)
	delete(s.answers, n)
	told := s.told(n)
	s.mu.Unlock()
	if told {
		s.changed(n, Owner{})
	}
}

// Bookmark records how far the stream has come.
func (s *store) Bookmark(version string) error {
	s.mu.Lock()
	changed := s.advance(version)
	s.mu.Unlock()
	s.pass(changed)
	return nil
}

// pass passes on which resources have changed.
func (s *store) pass(changed []types.NamespacedName) {
	for _, n := range changed {
		s.changed(n, Owner{})
	}
}

// record records an event of the stream, and what it leaves of the resource: nil if that is gone. It returns the
// resources whose change has to be passed on now.
func (s *store) record(event, left *unstructured.Unstructured) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, version := s.name(event), event.GetResourceVersion()
	outlasted := s.outlasts(n, version, left)
	changed := s.advance(version)
	held, ok := s.items[n]
	if outlasted || left == nil && !ok {
		return changed
	}
	s.set(n, left)
	if left != nil && ok && held.GetResourceVersion() == version || !s.told(n) {
		return changed
	}
	return append(changed, n)
}

// Replace takes over a list. What we have written since the list was made is kept, unless the server has gone back in
// its history.
func (s *store) Replace(list []any, version string) error {
	changed, wentBack := s.replace(list, version)
	if wentBack {
		s.wentBack()
	}
	s.pass(changed)
	s.filled()
	return nil
}

func (s *store) replace(list []any, version string) (changed []types.NamespacedName, wentBack bool) {
	items := make(map[types.NamespacedName]*unstructured.Unstructured, len(list))
	for _, obj := range list {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			items[s.name(u)] = u
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if wentBack = s.stream.begin(version); wentBack {
		s.forgetAnswers()
	}
	for n := range s.answers {
		if held := s.items[n]; s.outlasts(n, version, items[n]) {
			items[n] = held
		}
	}
	for n, u := range items {
		held, ok := s.items[n]
		if (!ok || held != u && !equality.Semantic.DeepEqual(held.Object, u.Object)) && s.told(n) {
			changed = append(changed, n)
		}
	}
	for n := range s.items {
		if _, ok := items[n]; !ok && s.told(n) {
			changed = append(changed, n)
		}
	}
	s.setAll(items)
	return changed, wentBack
}

// empty forgets all resources, and what is known of writes to them.
func (s *store) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetAnswers()
	s.setAll(map[types.NamespacedName]*unstructured.Unstructured{})
}

// Resync does nothing: owners look again by their own clocks.
func (s *store) Resync() error { return nil }
