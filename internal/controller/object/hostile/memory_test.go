package hostile_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sampleInterval is the pause between two looks at the memory of the provider.
const sampleInterval = 250 * time.Millisecond

// A gauge is the most memory that the provider has held since a time, and the processor time it has used.
type gauge struct {
	start int64
	peak  atomic.Int64
	began time.Time
	used  time.Duration // processor time when it began
}

// measure begins to measure the memory of the provider, until the test ends.
func (w world) measure(t *testing.T) *gauge {
	t.Helper()
	rss, err := w.process.RSS()
	if err != nil {
		t.Fatal(err)
	}
	used, err := w.process.CPU()
	if err != nil {
		t.Fatal(err)
	}
	g := &gauge{start: rss, began: time.Now(), used: used}
	g.peak.Store(rss)
	done := make(chan struct{})
	var measuring sync.WaitGroup
	measuring.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(sampleInterval):
			}
			if rss, err := w.process.RSS(); err == nil && rss > g.peak.Load() {
				g.peak.Store(rss)
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		measuring.Wait()
	})
	return g
}

// report logs what the provider has needed.
func (g *gauge) report(t *testing.T, w world) {
	t.Helper()
	used, err := w.process.CPU()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("memory grew by %d MB, from %d MB; %.2f processors were busy", g.growth()>>20, g.start>>20,
		float64(used-g.used)/float64(time.Since(g.began)))
}

// growth returns by how many bytes the memory has grown at most.
func (g *gauge) growth() int64 { return g.peak.Load() - g.start }
