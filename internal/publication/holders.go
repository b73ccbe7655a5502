package publication

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"unique"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// errNotFollowed means that a publication has not opened its streams yet. It is a conflict, of which nobody is told.
var errNotFollowed = apierrors.NewConflict(
	objectsync.Namespaces.GroupResource(), "", errors.New("it is not known yet whose copies it has"))

// shared is what all publications of one service cluster share: who uses which related objects, by what they have found
// and by what the states there tell. The states of a PublishedResource that is not served speak for its objects. Its
// methods may be called concurrently.
type shared struct {
	locks namespaceLocks

	mu   sync.Mutex
	open set[*holders]
	all  map[holder]set[unique.Handle[held]]
	// of are the same by what is held, of which nothing but a hash is known: each is found without a look at the rest, of
	// which one object may have a thousand.
	of   map[uint64][]unique.Handle[held]
	seed maphash.Seed
}

// A holder is an object of a publication or, without one, a state.
type holder struct {
	objectsync.Primary

	of *holders
}

// held is what a holder has.
type held struct {
	objectsync.Holding

	by *holders // nil if a state tells of it
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
		open: set[*holders]{}, all: map[holder]set[unique.Handle[held]]{}, of: map[uint64][]unique.Handle[held]{},
		seed: maphash.MakeSeed(),
	}
}

// holders are the related objects of all objects of a publication. They count until they are closed.
type holders struct {
	*shared

	name   string          // of the PublishedResource
	copies *informer.Table // nil until they are followed
}

func (s *shared) holdersOf(name string) *holders {
	h := &holders{shared: s, name: name}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[h] = struct{}{}
	return h
}

// follow tells where the copies of the publication are.
func (h *holders) follow(copies *informer.Table) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.copies = copies
}

// Workspaces returns the logical clusters that have copies in a namespace, in whatever publication.
func (h *holders) Workspaces(namespace string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	clusters := set[string]{}
	for o := range h.open {
		if o.copies == nil {
			return nil, errNotFollowed
		}
		if err := o.copies.Ready(); err != nil {
			return nil, err
		}
		for _, u := range o.copies.Select(namespace, labels.Everything()) {
			clusters[u.GetLabels()[objectsync.LabelCluster]] = struct{}{}
		}
	}
	delete(clusters, "")
	return slices.Collect(maps.Keys(clusters)), nil
}

func (h *holders) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, h)
	for by := range h.all {
		if by.of == h || len(h.open) == 0 { // Nobody hears of changes of states any more.
			h.replace(by, nil)
		}
	}
}

// isUnused reports whether no publication is left.
func (s *shared) isUnused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) == 0
}

// note records what a state tells by now, nothing if it is gone. Of two who note one at a time the second has the later
// look.
func (s *shared) note(n types.NamespacedName, get func(types.NamespacedName) *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(holder{Primary: objectsync.Primary{NamespacedName: n}}, objectsync.HeldBy(get(n)))
}

// set makes holdings all that an object has.
func (h *holders) set(p objectsync.Primary, all []objectsync.Holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replace(holder{p, h}, all)
}

// add adds to what an object has, because it is not known what else it still has.
func (h *holders) add(p objectsync.Primary, more []objectsync.Holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range more {
		h.insert(holder{p, h}, x)
	}
}

// Drop forgets one of the things an object has.
func (h *holders) Drop(x objectsync.Holding) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x.Kept = range []bool{false, true} {
		h.remove(holder{x.Primary, h}, unique.Make(held{x, h}))
	}
}

// replace makes holdings all that a holder has. The caller holds the lock.
func (s *shared) replace(by holder, all []objectsync.Holding) {
	wanted := make(set[unique.Handle[held]], len(all))
	for _, x := range all {
		wanted[s.insert(by, x)] = struct{}{}
	}
	for x := range s.all[by] {
		if _, is := wanted[x]; !is {
			s.remove(by, x)
		}
	}
}

// insert adds one of the things a holder has. The caller holds the lock.
func (s *shared) insert(by holder, x objectsync.Holding) unique.Handle[held] {
	at := unique.Make(held{x, by.of})
	if _, is := s.all[by][at]; is {
		return at
	}
	if s.all[by] == nil {
		s.all[by] = set[unique.Handle[held]]{}
	}
	s.all[by][at] = struct{}{}
	for _, k := range relatedKeys(x) {
		hash := maphash.Comparable(s.seed, k)
		s.of[hash] = append(s.of[hash], at)
	}
	return at
}

// remove removes one of the things a holder has. The caller holds the lock.
func (s *shared) remove(by holder, x unique.Handle[held]) {
	if _, is := s.all[by][x]; !is {
		return
	}
	if delete(s.all[by], x); len(s.all[by]) == 0 {
		delete(s.all, by)
	}
	for _, k := range relatedKeys(x.Value().Holding) {
		hash := maphash.Comparable(s.seed, k)
		at := slices.Index(s.of[hash], x)
		if s.of[hash] = slices.Delete(s.of[hash], at, at+1); len(s.of[hash]) == 0 {
			delete(s.of, hash)
		}
	}
}

// Holdings returns who has a related object or the copy of one, in whatever publication but another of the same
// PublishedResource, of which one takes over from the other.
func (h *holders) Holdings(cluster string, o objectsync.Ref) []objectsync.Holding {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []objectsync.Holding
	k := relatedKey{Ref: o.Plain(), cluster: cluster}
	for _, x := range h.of[maphash.Comparable(h.seed, k)] {
		at := x.Value()
		keys := relatedKeys(at.Holding)
		if slices.Contains(keys[:], k) && (at.by == nil || at.by == h || at.by.name != h.name) {
			out = append(out, at.Holding)
		}
	}
	return out
}
