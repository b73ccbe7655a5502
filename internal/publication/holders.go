package publication

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// shared is what all publications of one service cluster share: who uses which related objects, by what they have found
// and by what the states there tell. The states of a PublishedResource that is not served speak for its objects. Its
// methods may be called concurrently.
type shared struct {
	claimed sync.Map // See objectsync.Input.

	mu   sync.Mutex
	open set[*holders]
	all  map[holder][]objectsync.Holding
	of   map[relatedKey][]held // the same by what is held
}

// A holder is an object of a publication or, without one, a state.
type holder struct {
	objectsync.Primary

	of *holders
}

// held is what a holder has.
type held struct {
	objectsync.Holding

	by holder
}

// A relatedKey is an object that is related to another, or a copy of one, in no version: two PublishedResources may
// know it in different ones.
type relatedKey struct {
	objectsync.Ref

	cluster string // empty for the service cluster
}

// relatedKeys returns what a Holding is about.
func relatedKeys(h objectsync.Holding) [2]relatedKey {
	if h.Origin == v1alpha1.OriginService {
		return [2]relatedKey{{Ref: h.From.Plain()}, {Ref: h.To.Plain(), cluster: h.Primary.Cluster}}
	}
	return [2]relatedKey{{Ref: h.From.Plain(), cluster: h.Primary.Cluster}, {Ref: h.To.Plain()}}
}

func newShared() *shared {
	return &shared{
		open: set[*holders]{}, all: map[holder][]objectsync.Holding{}, of: map[relatedKey][]held{},
	}
}

// note records what a state tells by now, nothing if it is gone. Of two who note one at a time the second has the later
// look.
func (s *shared) note(n types.NamespacedName, get func(types.NamespacedName) *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(holder{Primary: objectsync.Primary{NamespacedName: n}}, objectsync.HeldBy(get(n)))
}

// put makes holdings all that a holder has. The caller holds the lock.
func (s *shared) put(by holder, all []objectsync.Holding) {
	for _, x := range s.all[by] {
		for _, k := range relatedKeys(x) {
			s.of[k] = slices.DeleteFunc(s.of[k], func(h held) bool { return h.by == by })
			if len(s.of[k]) == 0 {
				delete(s.of, k)
			}
		}
	}
	delete(s.all, by)
	known := set[objectsync.Holding]{}
	for _, x := range all {
		if _, is := known[x]; is {
			continue
		}
		known[x] = struct{}{}
		s.all[by] = append(s.all[by], x)
		for _, k := range relatedKeys(x) {
			s.of[k] = append(s.of[k], held{Holding: x, by: by})
		}
	}
}

// holders are the related objects of all objects of a publication. They count from open until they are closed.
type holders struct {
	shared  *shared
	name    string // of the PublishedResource
	streams *streams
}

// open tells all that share the service cluster of the publication, whose streams are open.
func (h *holders) open() {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	h.shared.open[h] = struct{}{}
}

// HasCopies reports whether a namespace has copies of objects of a logical cluster, in whatever publication. Who writes
// a label could open the namespace by that: a copy is one that a state does not deny. A kind that is not served has
// none.
func (h *holders) HasCopies(namespace, cluster string) (is bool, unknown error) {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	for o := range h.shared.open {
		for _, u := range o.streams.copies.Select(namespace, labels.Everything()) {
			item, _ := objectsync.SourceOf(u)
			if item.Cluster == cluster && objectsync.IsAt(o.streams.state(item), u) {
				return true, nil
			}
		}
		if err := o.streams.copies.Ready(); err != nil && !clusters.IsUnserved(err) {
			unknown = err
		}
	}
	return false, unknown
}

// IsCopy reports whether an object of the service cluster is the copy of one of a consumer, by whatever publication.
// Operators pass labels and annotations on: it is one where a state does not deny it.
func (h *holders) IsCopy(o objectsync.Ref) (bool, error) {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	for by := range h.shared.open {
		s := by.streams
		if s.config.Sync.Primary.Service.GroupResource() != o.GVR().GroupResource() {
			continue
		}
		u := s.copies.Get(o.NamespacedName())
		if item, ok := objectsync.SourceOf(u); ok && objectsync.IsAt(s.state(item), u) {
			return true, nil
		}
		if err := cmp.Or(s.copies.Ready(), s.states.Ready()); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (h *holders) close() {
	s := h.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, h)
	for by := range s.all {
		if by.of == h || len(s.open) == 0 { // Nobody hears of changes of states any more.
			s.put(by, nil)
		}
	}
}

// set makes holdings all that an object has.
func (h *holders) set(p objectsync.Primary, all []objectsync.Holding) {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	h.shared.put(holder{p, h}, all)
}

// add makes related all that an object refers to by their identifiers, and adds what it has copied. What it refers to
// by other identifiers stays, because that is not known. Nothing else does: what an object that fails has ever referred
// to would use up the memory of all.
func (h *holders) add(p objectsync.Primary, related, copied []objectsync.Holding) {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	by, known := holder{p, h}, set[string]{}
	for _, x := range related {
		known[x.Identifier] = struct{}{}
	}
	other := slices.DeleteFunc(slices.Clone(h.shared.all[by]), func(x objectsync.Holding) bool {
		_, is := known[x.Identifier]
		return is
	})
	h.shared.put(by, slices.Concat(other, related, copied))
}

// Drop forgets one of the things an object has.
func (h *holders) Drop(x objectsync.Holding) {
	h.shared.mu.Lock()
	defer h.shared.mu.Unlock()
	by := holder{x.Primary, h}
	h.shared.put(by, slices.DeleteFunc(slices.Clone(h.shared.all[by]), func(is objectsync.Holding) bool {
		is.Kept = x.Kept
		return is == x
	}))
}

// Holdings returns who has a related object or the copy of one, in whatever publication but another of the same
// PublishedResource, of which one takes over from the other.
func (h *holders) Holdings(cluster string, o objectsync.Ref) []objectsync.Holding {
	s := h.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.of[relatedKey{Ref: o.Plain(), cluster: cluster}]
	out := make([]objectsync.Holding, 0, len(all))
	for i := range all {
		at := &all[i]
		if of := at.by.of; of == nil || of == h || of.name != h.name {
			out = append(out, at.Holding)
		}
	}
	return out
}
