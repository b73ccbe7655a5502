package publication

import (
	"context"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// removeFinalizers takes our finalizers off an object and its related objects. All else stays.
func (p *publication) removeFinalizers(ctx context.Context, at *pass, in objectsync.Input) error {
	err := p.syncer.RemoveFinalizers(ctx, in)
	p.noteLooks(at)
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
	p.mu.Lock()
	all := make([]*endpoint, 0, len(p.endpoints))
	for _, e := range p.endpoints {
		all = append(all, e)
	}
	p.mu.Unlock()
	for _, e := range all {
		if e.objects.Ready() != nil {
			return 0, false
		}
		for _, name := range e.objects.Names() {
			if u := e.objects.Get(name); u != nil && objectsync.HasFinalizer(u) {
				n++
			}
		}
	}
	return n, true
}
