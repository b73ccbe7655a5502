package informer

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// annotationCluster is the annotation by which kcp tells the logical cluster of a resource.
const annotationCluster = "kcp.io/cluster"

// Indexes of a store. Without one, all are found.
const (
	indexNamespace = "namespace"
	indexKey       = "key"
)

// A store holds what one stream has delivered, and the answers to our own writes until the stream has come as far. Its
// callbacks are called without its lock.
type store struct {
	name     func(metav1.Object) types.NamespacedName       // tells a resource from the others of the stream
	changed  func(n types.NamespacedName, by Owner)         // a resource has changed, perhaps by one of our owners
	wentBack func()                                         // a list comes of a server that was restored
	listed   func(wentBack bool)                            // a list has come, perhaps of such a server
	keep     func(metav1.Object) *unstructured.Unstructured // returns what is held of a resource

	mu      sync.Mutex
	items   cache.ThreadSafeStore // by String() of their names
	answers map[types.NamespacedName]*answer
	version string // how far the stream has come
}

// An answer is that the store shows the answer to a write of ours.
type answer struct {
	version string
	told    *unstructured.Unstructured // what the stream has delivered instead, nil for nothing
}

var (
	_ cache.ReflectorStore         = &store{}
	_ cache.ReflectorBookmarkStore = &store{}
)

func newStore() *store {
	return &store{
		name: nameOf, keep: whole, items: cache.NewThreadSafeStore(cache.Indexers{}, cache.Indices{}),
		answers: map[types.NamespacedName]*answer{},
	}
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// nameInCluster returns a name that is unique among the logical clusters of a virtual workspace.
func nameInCluster(o metav1.Object) types.NamespacedName {
	n := nameOf(o)
	n.Namespace = o.GetAnnotations()[annotationCluster] + "/" + n.Namespace
	return n
}

// newer reports whether resource version a is known to be newer than b.
func newer(a, b string) bool {
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c > 0
}

// differ reports whether two states of a resource differ, by their resource versions. Nil is none.
func differ(a, b *unstructured.Unstructured) bool {
	return (a == nil) != (b == nil) || a != nil && a.GetResourceVersion() != b.GetResourceVersion()
}

// get returns a resource, packed, nil if it is not there.
func (s *store) get(n types.NamespacedName) *unstructured.Unstructured {
	o, _ := s.items.Get(n.String())
	u, _ := o.(*unstructured.Unstructured)
	return u
}

// find returns the resources that an index finds by a value, packed, sorted by namespace and name.
func (s *store) find(index, value string) []*unstructured.Unstructured {
	found := s.items.List()
	if index != "" {
		found, _ = s.items.ByIndex(index, value) // The only error is that no Table has asked for the index.
	}
	out := make([]*unstructured.Unstructured, 0, len(found))
	for _, o := range found {
		u, _ := o.(*unstructured.Unstructured)
		out = append(out, u)
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		m, n := s.name(a), s.name(b)
		return cmp.Or(strings.Compare(m.Namespace, n.Namespace), strings.Compare(m.Name, n.Name))
	})
	return out
}

// names returns the names of all resources, sorted by namespace and name.
func (s *store) names() []types.NamespacedName {
	all := s.find("", "")
	out := make([]types.NamespacedName, 0, len(all))
	for _, u := range all {
		out = append(out, s.name(u))
	}
	return out
}

// kept returns what is held of a resource that the stream delivers, nil for nothing.
func (s *store) kept(o any) *unstructured.Unstructured {
	if m, ok := o.(metav1.Object); ok {
		return s.keep(m)
	}
	return nil
}

// whole returns all of a resource, packed.
func whole(o metav1.Object) *unstructured.Unstructured {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return packed(u)
}

// Add takes a resource that the stream delivers.
func (s *store) Add(o any) error { return s.Update(o) }

// Update takes a resource that the stream delivers.
func (s *store) Update(o any) error {
	s.record(o, s.kept(o))
	return nil
}

// Delete takes that a resource is gone, or no longer selected.
func (s *store) Delete(o any) error {
	s.record(o, nil)
	return nil
}

// Bookmark takes how far the stream has come.
func (s *store) Bookmark(version string) error {
	s.mu.Lock()
	changed := s.advance(version)
	s.mu.Unlock()
	s.tell(changed)
	return nil
}

// Resync does nothing: owners look again by their own clocks.
func (s *store) Resync() error { return nil }

// record takes an event, and what it leaves of its resource, nil for nothing.
func (s *store) record(event any, left *unstructured.Unstructured) {
	o, ok := event.(metav1.Object)
	if !ok {
		return
	}
	n := s.name(o)
	s.mu.Lock()
	was := s.get(n)
	if a := s.answers[n]; a != nil && newer(a.version, o.GetResourceVersion()) {
		a.told = left
	} else {
		delete(s.answers, n)
		s.set(n, left)
	}
	changed := s.advance(o.GetResourceVersion())
	if differ(was, s.get(n)) {
		changed = append(changed, n)
	}
	s.mu.Unlock()
	s.tell(changed)
}

// advance takes how far the stream has come. Answers that it has passed without telling of them are not part of the
// history it tells: the word of the stream counts. It returns which resources have changed by that. The caller holds
// the lock.
func (s *store) advance(version string) (changed []types.NamespacedName) {
	if s.version == "" || newer(version, s.version) {
		s.version = version
	}
	for n, a := range s.answers {
		if newer(a.version, s.version) {
			continue
		}
		delete(s.answers, n)
		if differ(s.get(n), a.told) {
			s.set(n, a.told)
			changed = append(changed, n)
		}
	}
	return changed
}

// Replace takes a list, which is the truth as of its version. Only answers to later writes are kept, and not even those
// if the server has gone back in its history.
func (s *store) Replace(list []any, version string) error {
	wentBack := newer(s.version, version) // Nobody but the stream changes it.
	if wentBack {
		s.wentBack() // Before anybody can see that something is missing, which nobody has deleted.
	}
	s.tell(s.replace(list, version, wentBack))
	s.listed(wentBack)
	return nil
}

func (s *store) replace(list []any, version string, wentBack bool) (changed []types.NamespacedName) {
	was, items := map[types.NamespacedName]*unstructured.Unstructured{}, make(map[string]any, len(list))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range list {
		if u := s.kept(o); u != nil {
			n := s.name(u)
			was[n], items[n.String()] = nil, u
		}
	}
	for _, u := range s.find("", "") {
		was[s.name(u)] = u
	}
	if wentBack {
		clear(s.answers)
	}
	for n, a := range s.answers {
		if !newer(a.version, version) {
			delete(s.answers, n)
			continue
		}
		a.told, _ = items[n.String()].(*unstructured.Unstructured)
		items[n.String()] = was[n]
	}
	s.items.Replace(items, version)
	s.version = version
	for n, u := range was {
		if !equality.Semantic.DeepEqual(u, s.get(n)) {
			changed = append(changed, n)
		}
	}
	return changed
}

// set holds a resource, nil for nothing. The caller holds the lock.
func (s *store) set(n types.NamespacedName, u *unstructured.Unstructured) {
	if u == nil {
		s.items.Delete(n.String())
		return
	}
	s.items.Update(n.String(), u)
}

// put shows the answer of the server to a write of an owner, and passes it on to all others. If the stream has come as
// far it does nothing: what the stream has passed and does not hold is gone, or has lost our label.
func (s *store) put(by Owner, u *unstructured.Unstructured) {
	n := s.name(u)
	u = s.keep(u)
	s.mu.Lock()
	held := s.get(n)
	news := (s.version == "" || newer(u.GetResourceVersion(), s.version)) &&
		(held == nil || newer(u.GetResourceVersion(), held.GetResourceVersion()))
	if news {
		told := held
		if a := s.answers[n]; a != nil {
			told = a.told
		}
		s.answers[n] = &answer{version: u.GetResourceVersion(), told: told}
		s.set(n, u)
	}
	s.mu.Unlock()
	if news {
		s.changed(n, by)
	}
}

// remove forgets a resource that is known to be gone, and tells of that, unless what is held of it is something else.
func (s *store) remove(n types.NamespacedName, is func(*unstructured.Unstructured) bool) {
	s.mu.Lock()
	held := s.get(n)
	news := held != nil && is(held)
	if news {
		s.set(n, nil)
		delete(s.answers, n)
	}
	s.mu.Unlock()
	if news {
		s.changed(n, Owner{})
	}
}

// tell passes on which resources have changed.
func (s *store) tell(changed []types.NamespacedName) {
	for _, n := range changed {
		s.changed(n, Owner{})
	}
}

// empty forgets all resources.
func (s *store) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items.Replace(map[string]any{}, "")
	clear(s.answers)
}

// packed returns a resource with its managed fields as text: as maps they take more memory than all the rest of a small
// one. What is no list goes, as only a server that lies shows it. What is given does not change.
func packed(u *unstructured.Unstructured) *unstructured.Unstructured {
	fields, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	list, ok := fields.([]any)
	switch {
	case !found:
		return u
	case !ok:
		return withManagedFields(u, nil)
	}
	text, _ := json.Marshal(list) //nolint:errchkjson // It has been read from JSON.
	return withManagedFields(u, string(text))
}

// unpacked returns a packed resource as the server shows it, nil for nothing. What is given does not change.
func unpacked(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	fields, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	text, ok := fields.(string)
	if !ok {
		return u
	}
	var list []any
	_ = utiljson.Unmarshal([]byte(text), &list) // It is ours.
	return withManagedFields(u, list)
}

// withManagedFields returns a copy of a resource that has metadata, with other managed fields.
func withManagedFields(u *unstructured.Unstructured, fields any) *unstructured.Unstructured {
	metadata, _ := u.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["managedFields"] = fields
	u = &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	u.Object["metadata"] = metadata
	return u
}
