package publication

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

type set[K comparable] = map[K]struct{}

// links tell which objects need what. Methods may be called concurrently.
type links[K comparable] struct {
	mu     sync.Mutex
	needs  map[objectsync.Primary]set[K]
	needed map[K]set[objectsync.Primary]
}

func newLinks[K comparable]() *links[K] {
	return &links[K]{needs: map[objectsync.Primary]set[K]{}, needed: map[K]set[objectsync.Primary]{}}
}

// add adds to what an object needs.
func (l *links[K]) add(p objectsync.Primary, k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.needs[p] == nil {
		l.needs[p] = set[K]{}
	}
	if l.needed[k] == nil {
		l.needed[k] = set[objectsync.Primary]{}
	}
	l.needs[p][k], l.needed[k][p] = struct{}{}, struct{}{}
}

// set makes keys all that an object needs, and returns what nobody needs any more.
func (l *links[K]) set(p objectsync.Primary, keys set[K]) []K {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.needs[p]
	for k := range keys {
		if l.needed[k] == nil {
			l.needed[k] = set[objectsync.Primary]{}
		}
		l.needed[k][p] = struct{}{}
	}
	if l.needs[p] = keys; len(keys) == 0 {
		delete(l.needs, p)
	}
	var over []K
	for k := range was {
		if _, still := keys[k]; still {
			continue
		}
		if delete(l.needed[k], p); len(l.needed[k]) == 0 {
			delete(l.needed, k)
			over = append(over, k)
		}
	}
	return over
}

// of returns the objects that need something.
func (l *links[K]) of(k K) []objectsync.Primary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.needed[k]))
}

// A look is a resource that an object looks at, or all of a namespace if it has no name: of a workspace, or of the service cluster if cluster
// is empty.
type look struct {
	types.NamespacedName

	cluster  string
	resource schema.GroupVersionResource
}

// holders know the related objects of all objects.
type holders struct {
	links *links[held]

	mu  sync.Mutex
	all map[objectsync.Primary][]objectsync.Holding
}

// A held is an object that is related to another, or a copy of one.
type held struct {
	objectsync.Ref

	cluster string // empty for the service cluster
}

func newHolders() *holders {
	return &holders{links: newLinks[held](), all: map[objectsync.Primary][]objectsync.Holding{}}
}

// ends returns what a Holding is about.
func ends(h objectsync.Holding) [2]held {
	if h.Origin == v1alpha1.OriginService {
		return [2]held{{Ref: h.From}, {Ref: h.To, cluster: h.Primary.Cluster}}
	}
	return [2]held{{Ref: h.From, cluster: h.Primary.Cluster}, {Ref: h.To}}
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
	for _, h := range more {
		if !slices.Contains(all, h) {
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

// Holdings returns who has a related object or the copy of one.
func (s *holders) Holdings(cluster string, o objectsync.Ref) []objectsync.Holding {
	key := held{Ref: o, cluster: cluster}
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
