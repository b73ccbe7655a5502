package publication

import (
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
	of     map[string]*publication // by PublishedResources
	shared map[string]*shared      // by URL of the service cluster; they are few
	ended  bool
}

// NewSupervisor returns a Supervisor that runs nothing. Wake is called with the name of a PublishedResource when its
// Status has changed.
func NewSupervisor(wake func(name string)) *Supervisor {
	return &Supervisor{wake: wake, of: map[string]*publication{}, shared: map[string]*shared{}}
}

// Serve makes a Config the one that is served for a PublishedResource. It does nothing if that is served already:
// Follow tells of consumers. An error is one of objectsync.New: what was served before goes on then.
func (s *Supervisor) Serve(name string, c Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.of[name]
	if s.ended || last != nil && last.worker.config.Revision == c.Revision && last.worker.config.Service == c.Service {
		return nil
	}
	server := c.Service.Server()
	if s.shared[server] == nil {
		s.shared[server] = newShared()
	}
	c.shared = s.shared[server]
	next, err := newPublication(name, c, last, delayed(func() { s.wake(name) }))
	if err != nil {
		return err
	}
	s.of[name] = next
	next.start(last)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[name]; p != nil {
		p.adapt(c)
	}
}

// Stop ends what is served for a PublishedResource, and waits for what is under way.
func (s *Supervisor) Stop(name string) {
	s.mu.Lock()
	p := s.of[name]
	delete(s.of, name)
	s.mu.Unlock()
	if p != nil {
		p.stop()
		p.worker.events.close()
	}
	forgetMetrics(name)
}

// Status returns the counts of objects of a PublishedResource, nil if they are not known, as it is not served yet. The
// error says why a stream does not show its objects, once that has lasted: a server denies the stream, does not answer,
// or cuts it repeatedly.
func (s *Supervisor) Status(name string) (counts *v1alpha1.ObjectCounts, denied error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.of[name]; p != nil && p.serves.Load() {
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
	p := s.of[name]
	return p != nil && p.serves.Load() && p.worker.config.RemoveFinalizers && p.worker.holdsNone()
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
