package publication

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A holderIndex holds together the holders of all publications of one service cluster, and what the states there tell:
// those of a PublishedResource that is not served yet, or not any more, speak for its objects. Methods may be called
// concurrently.
type holderIndex struct {
	mu     sync.Mutex
	all    set[*holders]
	states *holders // by the names of the states
}

func newHolderIndex() *holderIndex {
	return &holderIndex{states: newHolders(nil, ""), all: set[*holders]{}}
}

// open returns holders for a publication. They count until they are closed.
func (l *holderIndex) open(name string) *holders {
	h := newHolders(l, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[h] = struct{}{}
	return h
}

func (l *holderIndex) close(h *holders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.all, h); len(l.all) == 0 {
		l.states = newHolders(nil, "") // Nobody hears of their changes any more.
	}
}

// isUnused reports whether no publication has holders here.
func (l *holderIndex) isUnused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) == 0
}

// beside returns all other holders but those of the same PublishedResource, of whose publications one takes over from
// the other.
func (l *holderIndex) beside(h *holders) []*holders {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []*holders{l.states}
	for other := range l.all {
		if other.name != h.name {
			out = append(out, other)
		}
	}
	return out
}

// note records what a state tells by now, nothing if it is gone. Of two who note one at a time the second has the later
// look.
func (l *holderIndex) note(n types.NamespacedName, get func(types.NamespacedName) *unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states.set(objectsync.Primary{NamespacedName: n}, objectsync.HeldBy(get(n)))
}

// holders know the related objects of all objects of a publication, and ask others for theirs. What an object has is
// found by it and by what it has, each without a look at the rest: one object may have a thousand.
type holders struct {
	ledger *holderIndex
	name   string // of the PublishedResource

	mu  sync.Mutex
	all map[objectsync.Primary]map[objectsync.Holding]*objectsync.Holding
	of  map[relatedKey]set[*objectsync.Holding]
}

// A relatedKey is an object that is related to another, or a copy of one, in no version: two PublishedResources may
// know it in different ones.
type relatedKey struct {
	objectsync.Ref

	cluster string // empty for the service cluster
}

func newHolders(l *holderIndex, name string) *holders {
	return &holders{
		ledger: l, name: name, all: map[objectsync.Primary]map[objectsync.Holding]*objectsync.Holding{},
		of: map[relatedKey]set[*objectsync.Holding]{},
	}
}

// relatedKeys returns what a Holding is about.
func relatedKeys(h objectsync.Holding) [2]relatedKey {
	if h.Origin == v1alpha1.OriginService {
		return [2]relatedKey{{Ref: h.From.Plain()}, {Ref: h.To.Plain(), cluster: h.Primary.Cluster}}
	}
	return [2]relatedKey{{Ref: h.From.Plain(), cluster: h.Primary.Cluster}, {Ref: h.To.Plain()}}
}

// set makes holdings all that an object has.
func (s *holders) set(p objectsync.Primary, all []objectsync.Holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := make(set[objectsync.Holding], len(all))
	for _, h := range all {
		wanted[h] = struct{}{}
		s.insert(p, h)
	}
	for h := range s.all[p] {
		if _, is := wanted[h]; !is {
			s.remove(p, h)
		}
	}
}

// add adds to what an object has, because it is not known what else it still has.
func (s *holders) add(p objectsync.Primary, more []objectsync.Holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range more {
		s.insert(p, h)
	}
}

// Drop forgets one of the things an object has.
func (s *holders) Drop(h objectsync.Holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Kept = false
	s.remove(h.Primary, h)
	h.Kept = true
	s.remove(h.Primary, h)
}

// insert adds one of the things an object has. The caller holds the lock.
func (s *holders) insert(p objectsync.Primary, h objectsync.Holding) {
	if s.all[p][h] != nil {
		return
	}
	if s.all[p] == nil {
		s.all[p] = map[objectsync.Holding]*objectsync.Holding{}
	}
	s.all[p][h] = &h
	for _, e := range relatedKeys(h) {
		if s.of[e] == nil {
			s.of[e] = set[*objectsync.Holding]{}
		}
		s.of[e][&h] = struct{}{}
	}
}

// remove removes one of the things an object has. The caller holds the lock.
func (s *holders) remove(p objectsync.Primary, h objectsync.Holding) {
	at := s.all[p][h]
	if at == nil {
		return
	}
	if delete(s.all[p], h); len(s.all[p]) == 0 {
		delete(s.all, p)
	}
	for _, e := range relatedKeys(h) {
		if delete(s.of[e], at); len(s.of[e]) == 0 {
			delete(s.of, e)
		}
	}
}

// Holdings returns who has a related object or the copy of one, in whatever publication.
func (s *holders) Holdings(cluster string, o objectsync.Ref) []objectsync.Holding {
	key := relatedKey{Ref: o.Plain(), cluster: cluster}
	out := s.holding(key)
	for _, other := range s.ledger.beside(s) {
		out = append(out, other.holding(key)...)
	}
	return out
}

// holding returns who of these has a related object or the copy of one.
func (s *holders) holding(key relatedKey) []objectsync.Holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []objectsync.Holding
	for h := range s.of[key] {
		out = append(out, *h)
	}
	return out
}
