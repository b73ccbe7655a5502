package publication

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A ledger holds together the holders of all publications of one service cluster, and what the states there tell: those of a PublishedResource
// that is not served yet, or not any more, speak for its objects. Methods may be called concurrently.
type ledger struct {
	mu     sync.Mutex
	all    set[*holders]
	states *holders // by the names of the states
}

func newLedger() *ledger {
	return &ledger{states: newHolders(nil, ""), all: set[*holders]{}}
}

// open returns holders for a publication. They count until they are closed.
func (l *ledger) open(name string) *holders {
	h := newHolders(l, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[h] = struct{}{}
	return h
}

func (l *ledger) close(h *holders) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.all, h); len(l.all) == 0 {
		l.states = newHolders(nil, "") // Nobody hears of their changes any more.
	}
}

// beside returns all other holders but those of the same PublishedResource, of whose publications one takes over from the other.
func (l *ledger) beside(h *holders) []*holders {
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

// note records what a state tells by now, nothing if it is gone. Of two who note one at a time the second has the later look.
func (l *ledger) note(n types.NamespacedName, get func(types.NamespacedName) *unstructured.Unstructured) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states.set(objectsync.Primary{NamespacedName: n}, objectsync.HeldBy(get(n)))
}

// holders know the related objects of all objects of a publication, and ask others for theirs.
type holders struct {
	ledger *ledger
	name   string // of the PublishedResource
	links  *links[held]

	mu  sync.Mutex
	all map[objectsync.Primary][]objectsync.Holding
}

// A held is an object that is related to another, or a copy of one, in no version: two PublishedResources may know it in different ones.
type held struct {
	objectsync.Ref

	cluster string // empty for the service cluster
}

func newHolders(l *ledger, name string) *holders {
	return &holders{ledger: l, name: name, links: newLinks[held](), all: map[objectsync.Primary][]objectsync.Holding{}}
}

// ends returns what a Holding is about.
func ends(h objectsync.Holding) [2]held {
	if h.Origin == v1alpha1.OriginService {
		return [2]held{{Ref: h.From.Plain()}, {Ref: h.To.Plain(), cluster: h.Primary.Cluster}}
	}
	return [2]held{{Ref: h.From.Plain(), cluster: h.Primary.Cluster}, {Ref: h.To.Plain()}}
}

// set makes holdings all that an object has.
func (s *holders) set(p objectsync.Primary, all []objectsync.Holding) {
	keys := set[held]{}
	for _, h := range all {
		for _, e := range ends(h) {
			keys[e] = struct{}{}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[p] = all; len(all) == 0 {
		delete(s.all, p)
	}
	s.links.set(p, keys)
}

// add adds to what an object has, because it is not known what else it still has.
func (s *holders) add(p objectsync.Primary, more []objectsync.Holding) {
	s.mu.Lock()
	all := slices.Clone(s.all[p])
	s.mu.Unlock()
	known := set[objectsync.Holding]{}
	for _, h := range all {
		known[h] = struct{}{}
	}
	for _, h := range more {
		if _, is := known[h]; !is {
			known[h] = struct{}{}
			all = append(all, h)
		}
	}
	s.set(p, all)
}

// Drop forgets one of the things an object has.
func (s *holders) Drop(h objectsync.Holding) {
	s.mu.Lock()
	rest := slices.DeleteFunc(slices.Clone(s.all[h.Primary]), func(x objectsync.Holding) bool { return x.Same(h) })
	s.mu.Unlock()
	s.set(h.Primary, rest) // Only one sync of an object is under way.
}

// Holdings returns who has a related object or the copy of one, in whatever publication.
func (s *holders) Holdings(cluster string, o objectsync.Ref) []objectsync.Holding {
	key := held{Ref: o.Plain(), cluster: cluster}
	out := s.of(key)
	for _, other := range s.ledger.beside(s) {
		out = append(out, other.of(key)...)
	}
	return out
}

// of returns who of these has a related object or the copy of one.
func (s *holders) of(key held) []objectsync.Holding {
	users := s.links.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []objectsync.Holding
	for _, p := range users {
		for _, h := range s.all[p] {
			if e := ends(h); e[0] == key || e[1] == key {
				out = append(out, h)
			}
		}
	}
	return out
}
