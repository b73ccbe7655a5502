package hostile_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// probes is how many Objects each measurement of a neighbour makes, one after the other.
const probes = 9

// A neighbour is a tenant whose target is well.
type neighbour struct {
	world

	namespace string
	record    *record
	made      int
}

// newNeighbour connects a tenant to the target and measures it.
func newNeighbour(t *testing.T, w world) *neighbour {
	t.Helper()
	n := &neighbour{world: w, namespace: local.Namespace(t)}
	n.record = w.watch(t, n.namespace)
	if err := w.connect(t, n.namespace, "well", target.User(t, user, admins)); err != nil {
		t.Fatal(err)
	}
	n.median(t) // What comes first connects, and lists.
	n.figure(t, "alone")
	return n
}

// median makes Objects one after the other, and returns the median time until one is Ready.
func (n *neighbour) median(t *testing.T) time.Duration {
	t.Helper()
	took := make([]time.Duration, 0, probes)
	for len(took) < probes {
		took = append(took, n.one(t))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// one makes an Object and returns how long it takes until it is Ready.
func (n *neighbour) one(t *testing.T) time.Duration {
	t.Helper()
	n.made++
	name := fmt.Sprintf("%s-%d", n.namespace, n.made)
	began := time.Now()
	kube.Create(t, n.c, n.object(n.namespace, name, "well"))
	var at time.Time
	kube.Eventually(t, "Object of a healthy target to be Ready", func() (ok bool, state string) {
		at, ok = n.record.readySince(name)
		return ok, describe(n.record.get(name))
	})
	return at.Sub(began)
}

// figure prints how fast the neighbour is.
func (n *neighbour) figure(t *testing.T, when string) {
	t.Helper()
	kube.Figure(t, "median time until an Object of a healthy target is Ready "+when,
		func() time.Duration { return n.median(t) })
}

// sampleInterval is the pause between two looks at the memory of the provider.
const sampleInterval = 250 * time.Millisecond

// floodMemory is how many bytes a target may cost that shows resources without end, as docs/tenancy.md says: 64 MiB are
// held, beside a list of 32 MiB that is read.
const floodMemory = (64 + 32) << 20

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

// mayHold returns by how many bytes sick targets may make the provider grow, if those that show no resources without
// end make it grow by so many.
func mayHold(others int64, sick []*cell) int64 {
	for _, c := range sick {
		if c.mode.Name == "Flood" {
			others += floodMemory
		}
	}
	return others
}
