package publishedresource

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An exportedResource is one resource of one APIExport.
type exportedResource struct {
	server, export string
	resource       schema.GroupResource
}

// An exportLock lets only one PublishedResource publish a resource in an APIExport. The first one has it until it goes
// or moves.
type exportLock struct {
	wake func(name string)

	mu      sync.Mutex
	holders map[exportedResource]string
	held    map[string]exportedResource
	waiting map[exportedResource]map[string]struct{}
}

func newExportLock(wake func(name string)) *exportLock {
	return &exportLock{
		wake: wake, holders: map[exportedResource]string{}, held: map[string]exportedResource{},
		waiting: map[exportedResource]map[string]struct{}{},
	}
}

// claim gives a place to a PublishedResource, which loses the one it had, and returns who has it.
func (g *exportLock) claim(p exportedResource, name string) string {
	g.mu.Lock()
	if holder, taken := g.holders[p]; taken && holder != name {
		g.await(p, name)
		g.mu.Unlock()
		return holder
	}
	var free map[string]struct{}
	if g.held[name] != p {
		free = g.remove(name)
	}
	g.holders[p], g.held[name] = name, p
	g.stopWaiting(p, name)
	g.mu.Unlock()
	g.wakeAll(free)
	return name
}

// place returns the server and the APIExport a PublishedResource publishes to, if that is known.
func (g *exportLock) place(name string) (server, export string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, known := g.held[name]
	return p.server, p.export, known
}

// stopWaiting makes a PublishedResource wait for a place no more. The caller holds the lock.
func (g *exportLock) stopWaiting(p exportedResource, name string) {
	if delete(g.waiting[p], name); len(g.waiting[p]) == 0 {
		delete(g.waiting, p)
	}
}

// waitFor makes a PublishedResource wait for a place that another has from before.
func (g *exportLock) waitFor(p exportedResource, name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.await(p, name)
}

// release takes a PublishedResource off its place.
func (g *exportLock) release(name string) {
	g.mu.Lock()
	free := g.remove(name)
	for p := range g.waiting {
		g.stopWaiting(p, name)
	}
	g.mu.Unlock()
	g.wakeAll(free)
}

// await makes a PublishedResource wait for a place. The caller holds the lock.
func (g *exportLock) await(p exportedResource, name string) {
	if g.waiting[p] == nil {
		g.waiting[p] = map[string]struct{}{}
	}
	g.waiting[p][name] = struct{}{}
}

// remove frees the place of a PublishedResource and returns who waits for it. The caller holds the lock.
func (g *exportLock) remove(name string) map[string]struct{} {
	p, ok := g.held[name]
	if !ok {
		return nil
	}
	delete(g.held, name)
	delete(g.holders, p)
	free := g.waiting[p]
	delete(g.waiting, p)
	return free
}

func (g *exportLock) wakeAll(names map[string]struct{}) {
	for n := range names {
		g.wake(n)
	}
}
