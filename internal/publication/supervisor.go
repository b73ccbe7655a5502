package publication

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// reportEvery is how often it is told at most that the Status of a PublishedResource has changed.
const reportEvery = time.Second

// A Supervisor runs the publications of PublishedResources. Its methods may be called concurrently.
type Supervisor struct {
	wake func(name string)

	mu     sync.Mutex
	of     map[string]*served
	shared map[string]*shared // by the URLs of service clusters, of which there are few
	ended  bool
}

// A served is one PublishedResource.
type served struct {
	current *publication // nil before the first is ready
	next    *publication // nil unless one is about to take over
	events  *eventRecorder
}

// NewSupervisor returns a Supervisor that runs nothing. Wake is called with the name of a PublishedResource when its
// Status has changed.
func NewSupervisor(wake func(name string)) *Supervisor {
	return &Supervisor{wake: wake, of: map[string]*served{}, shared: map[string]*shared{}}
}

// Serve makes a Config the one that is served for a PublishedResource. To one that is served already it tells nothing:
// Follow tells of consumers. The cause of an error is objectsync.ErrInvalidSpec; what was served before goes on then.
func (s *Supervisor) Serve(name string, c Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	of := cmp.Or(s.of[name], &served{})
	latest := cmp.Or(of.next, of.current)
	if latest != nil && latest.worker.config.Revision == c.Revision && latest.worker.config.Service == c.Service {
		return nil
	}
	server := c.Service.Server()
	if s.shared[server] == nil {
		s.shared[server] = newShared()
	}
	c.shared = s.shared[server]
	next, err := newPublication(name, c, delayed(func() { s.wake(name) }))
	if err != nil {
		return err
	}
	if latest != nil {
		next.worker.workspaces.inherit(latest.worker.workspaces)
		next.worker.objects.inherit(latest.worker.objects)
	}
	if of.events == nil {
		of.events = newEventRecorder(name)
	}
	next.worker.events = of.events // Those that wait are of the objects, whatever the spec is by now.
	next.open()
	if of.next != nil {
		go of.next.stop()
	}
	of.next = next
	s.of[name] = of
	go s.takeOver(of, next)
	return nil
}

// delayed returns a function that runs another one after reportEvery, once for all calls until then.
func delayed(do func()) func() {
	var waits atomic.Bool
	return func() {
		if !waits.Swap(true) {
			time.AfterFunc(reportEvery, func() {
				waits.Store(false)
				do()
			})
		}
	}
}

// Follow tells what is served for a PublishedResource who its consumers are by now, if anything is.
func (s *Supervisor) Follow(name string, c Consumers) {
	s.each(name, func(p *publication) { p.adapt(c) })
}

// each does something with what is served for a PublishedResource, and with what is about to be.
func (s *Supervisor) each(name string, do func(*publication)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.get(name)
	for _, p := range []*publication{of.current, of.next} {
		if p != nil {
			do(p)
		}
	}
}

// get returns what is served for a PublishedResource. The caller holds the lock.
func (s *Supervisor) get(name string) served { return *cmp.Or(s.of[name], &served{}) }

// takeOver starts a publication when its streams are filled, after the one before it.
func (s *Supervisor) takeOver(of *served, next *publication) {
	next.worker.await(next.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.next != next {
		return
	}
	last := of.current
	of.current, of.next = next, nil
	next.worker.objects.changed() // Without any object, too, the status says that there are none.
	next.running.Go(func() {
		if last != nil {
			last.stop()
		}
		next.run()
	})
}

// Stop ends what is served for a PublishedResource, and waits for what is under way.
func (s *Supervisor) Stop(name string) {
	s.mu.Lock()
	is := cmp.Or(s.of[name], &served{})
	of := *is
	is.current, is.next = nil, nil // So that none takes over.
	delete(s.of, name)
	s.mu.Unlock()
	for _, p := range []*publication{of.current, of.next} {
		if p != nil {
			p.stop()
		}
	}
	if of.events != nil {
		of.events.close()
	}
	forgetMetrics(name)
}

// Status returns the counts of objects of a PublishedResource, nil if it is not served. The error says why a stream
// does not show its objects, once that has lasted: a server denies the stream, does not answer, or cuts it repeatedly.
func (s *Supervisor) Status(name string) (counts *v1alpha1.ObjectCounts, denied error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.get(name).current; p != nil {
		if counts = p.status(); p.denied.Load() {
			denied = p.denial()
		}
	}
	return counts, denied
}

// HoldsNone reports whether our finalizer is removed from all known objects of consumers. It is false for a
// PublishedResource that is not served to remove them.
func (s *Supervisor) HoldsNone(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.get(name)
	return of.next == nil && of.current != nil && of.current.worker.config.RemoveFinalizers &&
		of.current.worker.holdsNone()
}

// Restored tells that a server of kcp has gone back in its history: objects may be missing there that nobody has
// deleted.
func (s *Supervisor) Restored(name string) {
	s.each(name, func(p *publication) {
		p.worker.workspaces.forgetLooks() // Others have those resource versions now.
		p.worker.suspectAll()
	})
}

// Start ends all publications when the context ends.
func (s *Supervisor) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	s.ended = true
	names := slices.Collect(maps.Keys(s.of))
	s.mu.Unlock()
	var stops sync.WaitGroup
	for _, name := range names {
		stops.Go(func() { s.Stop(name) })
	}
	stops.Wait()
	return nil
}
