package publication

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// late is the revision of a Config whose copies nobody tells of for a while, so that it cannot take over.
const late = "late"

// A supervised is a Supervisor, and servers that have nothing.
type supervised struct {
	*testing.T
	*Supervisor
	*server

	config Config
}

func newSupervised(t *testing.T) *supervised {
	t.Helper()
	s := &supervised{T: t, Supervisor: NewSupervisor(func(string) {}), server: &server{late: make(chan struct{})}}
	url, connect := startServer(t, s)
	s.config = Config{Service: connect(url), Sync: thingsWithSecrets()}
	s.config.Endpoints = []Endpoint{{URL: url, Cluster: connect(url + clusters.AllClusters), Listed: true}}
	return s
}

// serve serves a revision.
func (s *supervised) serve(revision string) {
	s.Helper()
	c := s.config
	c.Revision = revision
	if revision == late {
		c.Sync.Primary.Service.Resource = "lates"
	}
	if err := s.Serve("things", c); err != nil {
		s.Error(err)
	}
}

// runs waits until nothing but a revision is served.
func (s *supervised) runs(revision string) {
	s.Helper()
	kube.Eventually(s, "revision "+revision, func() (bool, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		p := s.of["things"]
		return p != nil && p.serves.Load() && p.worker.config.Revision == revision, fmt.Sprintf("%+v", p)
	})
}

// TestCountsSeldom shows that 200 changes of the counts of objects, 20 a second, are told each second at most, and that
// the last one is told.
func TestCountsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, perSecond = 200, 20
		var changes, told, last atomic.Int64
		change := delayed(func() { told.Add(1); last.Store(changes.Load()) })
		for range burst {
			changes.Add(1)
			change()
			time.Sleep(time.Second / perSecond)
		}
		time.Sleep(reportEvery)
		synctest.Wait()
		if most := int64(burst / perSecond); told.Load() > most || last.Load() != burst {
			t.Errorf("want %d told at most, the last of %d changes, got %d of %d", most, burst, told.Load(), last.Load())
		}
	})
}

// TestNothingGoesOn shows that of what has been served for a PublishedResource nothing goes on when it is stopped:
// neither what was served before, nor what was to be served next.
func TestNothingGoesOn(t *testing.T) {
	for name, serve := range map[string]func(s *supervised){
		"Served":       func(s *supervised) { s.serve("1"); s.runs("1") },
		"Replaced":     func(s *supervised) { s.serve("1"); s.runs("1"); s.serve("2"); s.runs("2") },
		"AboutTo":      func(s *supervised) { s.serve(late) },
		"NextAboutTo":  func(s *supervised) { s.serve("1"); s.runs("1"); s.serve(late) },
		"NextReplaced": func(s *supervised) { s.serve("1"); s.runs("1"); s.serve(late); s.serve("2"); s.runs("2") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSupervised(t)
			serve(s)
			s.Stop("things")
			close(s.late)
			s.awaitEnd()
		})
	}
}

// awaitEnd waits until no publication is left, and no stream open.
func (s *supervised) awaitEnd() {
	s.Helper()
	kube.Eventually(s, "all publications to end", func() (bool, string) {
		left, open := 0, s.open.Load()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, by := range s.shared {
			by.mu.Lock()
			left += len(by.open)
			by.mu.Unlock()
		}
		return left == 0 && open == 0, fmt.Sprintf("%d publications with %d streams are left", left, open)
	})
}
