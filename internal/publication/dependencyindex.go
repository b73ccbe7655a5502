package publication

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

type set[K comparable] = map[K]struct{}

// dependencyIndex tell which objects need what. Methods may be called concurrently.
type dependencyIndex[K comparable] struct {
	mu     sync.Mutex
	needs  map[objectsync.Primary]set[K]
	needed map[K]set[objectsync.Primary]
}

func newDependencyIndex[K comparable]() *dependencyIndex[K] {
	return &dependencyIndex[K]{needs: map[objectsync.Primary]set[K]{}, needed: map[K]set[objectsync.Primary]{}}
}

// add adds to what an object needs.
func (l *dependencyIndex[K]) add(p objectsync.Primary, k K) {
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
func (l *dependencyIndex[K]) set(p objectsync.Primary, keys set[K]) []K {
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
func (l *dependencyIndex[K]) of(k K) []objectsync.Primary {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.needed[k]))
}

// A watchedObject is a resource that an object looks at, or all of a namespace if it has no name: of a workspace, or of
// the service cluster if cluster is empty.
type watchedObject struct {
	types.NamespacedName

	cluster  string
	resource schema.GroupVersionResource
}
