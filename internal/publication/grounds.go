package publication

import (
	"sync"
	"sync/atomic"
)

// grounds are the namespaces of service clusters that publications of this program create resources in, so that none is
// deleted after one has found it empty and before another sees what has been created there.
type grounds struct {
	mu  sync.Mutex
	all map[groundKey]*ground
}

type groundKey struct{ server, namespace string }

// A ground is one namespace.
type ground struct {
	of   *grounds
	key  groundKey
	uses int // how many have asked for it and not done with it; the lock of grounds guards it

	mu      sync.RWMutex // held for reading during a creation, for writing during the deletion of the namespace
	created atomic.Int64 // how many creations are over
}

func newGrounds() *grounds { return &grounds{all: map[groundKey]*ground{}} }

// of returns a namespace of a server, for one call of build or clear. With the last use it is forgotten.
func (g *grounds) of(server, namespace string) *ground {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := groundKey{server, namespace}
	if g.all[k] == nil {
		g.all[k] = &ground{of: g, key: k}
	}
	g.all[k].uses++
	return g.all[k]
}

// done ends a use of the namespace.
func (g *ground) done() {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.uses--; g.uses == 0 {
		delete(g.of.all, g.key)
	}
}

// build creates something in the namespace.
func (g *ground) build(create func() error) error {
	defer g.done()
	g.mu.RLock()
	defer g.mu.RUnlock()
	defer g.created.Add(1) // Before the lock is given up.
	return create()
}

// clear deletes the namespace if it is empty and nothing has been created in it since that was looked at, and reports
// whether it has.
func (g *ground) clear(empty func() (bool, error), remove func() error) (cleared bool, err error) {
	defer g.done()
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
