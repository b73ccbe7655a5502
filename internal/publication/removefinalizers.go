package publication

import (
	"context"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// removeFinalizers takes our finalizers off an object, if it is there, and its related objects. All else stays.
func (p *publication) removeFinalizers(ctx context.Context, at *pass, in objectsync.Input, there bool) error {
	err := p.syncer.RemoveFinalizers(ctx, in)
	if err == nil && !there {
		p.forget(at.item)
		return nil
	}
	p.setNeeds(at.item, at.needs)
	return err
}

// CountHeld returns how many objects of consumers still have our finalizer, for a PublishedResource that is served to
// take them off, and false if that is not known.
func (s *Supervisor) CountHeld(name string) (n int, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[name]
	if of == nil || of.next != nil || of.current == nil || !of.current.config.RemoveFinalizers {
		return 0, false
	}
	return of.current.held()
}

// held returns how many objects have our finalizer, and false if an endpoint does not show all it has.
func (p *publication) held() (n int, known bool) {
	for _, e := range p.allEndpoints() {
		if e.objects.Ready() != nil {
			return 0, false
		}
		for _, name := range e.objects.Names() {
			shown := p.whatOf(primaryOf(name).Cluster).shown
			if u := e.objects.Get(name); shown && u != nil && objectsync.HasFinalizer(u) {
				n++
			}
		}
	}
	return n, true
}
