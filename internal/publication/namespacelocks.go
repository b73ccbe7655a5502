package publication

import (
	"sync"
	"sync/atomic"
)

// namespaceLocks are the namespaces of service clusters that publications of this program create resources in, so that
// none is deleted after one has found it empty and before another sees what has been created there.
type namespaceLocks struct {
	mu  sync.Mutex
	all map[namespaceLockKey]*namespaceLock
}

type namespaceLockKey struct{ server, namespace string }

// A namespaceLock is one namespace.
type namespaceLock struct {
	of   *namespaceLocks
	key  namespaceLockKey
	uses int // how many have asked for it and not done with it; the lock of namespaceLocks guards it

	mu      sync.RWMutex // held for reading during a creation, for writing during the deletion of the namespace
	created atomic.Int64 // how many creations are over
}

func newNamespaceLocks() *namespaceLocks {
	return &namespaceLocks{all: map[namespaceLockKey]*namespaceLock{}}
}

// get returns a namespace of a server, for one call of build or clear. With the last use it is forgotten.
func (g *namespaceLocks) get(server, namespace string) *namespaceLock {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := namespaceLockKey{server, namespace}
	if g.all[k] == nil {
		g.all[k] = &namespaceLock{of: g, key: k}
	}
	g.all[k].uses++
	return g.all[k]
}

// release ends a use of the namespace.
func (g *namespaceLock) release() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.uses--; g.uses == 0 {
		delete(g.of.all, g.key)
	}
}

// create creates something in the namespace.
func (g *namespaceLock) create(create func() error) error {
	defer g.release()
	g.mu.RLock()
	defer g.mu.RUnlock()
	defer g.created.Add(1) // Before the lock is given up.
	return create()
}

// deleteIfEmpty deletes the namespace if it is empty and nothing has been created in it since that was looked at, and
// reports whether it has.
func (g *namespaceLock) deleteIfEmpty(empty func() (bool, error), remove func() error) (cleared bool, err error) {
	defer g.release()
	before := g.created.Load()
	if ok, err := empty(); err != nil || !ok {
		return false, err
	}
	if !g.mu.TryLock() {
		return false, nil // Something is being created.
	}
	defer g.mu.Unlock()
	if g.created.Load() != before {
		return false, nil // What was created may still be there.
	}
	return true, remove()
}
