package hostile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// calm is how long what they say must stay as it is: longer than several retries.
	calm = 10 * time.Second
	// matrixMemory is by how many bytes the provider may grow, beside floodMemory for each target that shows resources
	// without end.
	matrixMemory = 150 << 20
)

// The suffixes of the two Objects of each target: one stays, and one is deleted while the target is sick.
const (
	staying = "-staying"
	leaving = "-leaving"
)

// TestHostileTargets shows, for each mode of a hostile server and each verb an Object sends, all at the same time, that
// a healthy target is kept as fast as without them, that memory is bounded, that nothing a server invents is shown, and
// that the Objects of the sick targets say what is wrong, say it steadily, and are well as soon as their targets are.
func TestHostileTargets(t *testing.T) {
	w := newWorld(t)
	n := newNeighbour(t, w)
	m := newMatrix(t, w)
	memoryOf := w.measure(t)

	m.create(t)
	n.figure(t, "as sick targets come")
	m.say(t)
	m.leave(t)
	n.figure(t, "as Objects of sick targets are deleted")
	m.depart(t)
	m.exercised(t)
	m.stay(t)
	n.figure(t, "beside sick targets")
	memoryOf.report(t, w)
	if most := mayHold(matrixMemory, m.cells); memoryOf.growth() > most {
		t.Errorf("memory grew by %d MB, want at most %d MB", memoryOf.growth()>>20, most>>20)
	}
	m.heal(t)
	w.showsNothingForeign(t, m.record, m.sink)
}

// A matrix is all cells at once, in one namespace.
type matrix struct {
	world

	namespace string
	cells     []*cell
	record    *record
	sink      *hostile.Sink
}

func newMatrix(t *testing.T, w world) *matrix {
	t.Helper()
	m := &matrix{
		world: w, namespace: local.Namespace(t), cells: table(), sink: hostile.NewSink(t, "canary-of-the-sink"),
	}
	m.record = w.watch(t, m.namespace)
	for _, c := range m.cells {
		c.start(t, w, m.sink)
	}
	t.Logf("%d targets", len(m.cells))
	return m
}

// create makes the targets sick and their Objects. The targets that are sick late are well until these are Ready.
func (m *matrix) create(t *testing.T) {
	t.Helper()
	each(t, len(m.cells), func(i int) error {
		c := m.cells[i]
		if !c.late() {
			c.sicken(t)
		}
		if err := m.connect(t, m.namespace, c.name, c.server.Config()); err != nil {
			return err
		}
		for _, suffix := range []string{staying, leaving} {
			if err := m.c.Create(t.Context(), m.object(m.namespace, c.name+suffix, c.name)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, c := range m.cells {
		if !c.late() {
			continue
		}
		kube.Eventually(t, c.name+" to be Ready before its target is sick", func() (bool, string) {
			s, l := m.record.get(c.name+staying), m.record.get(c.name+leaving)
			return s != nil && l != nil && ready(s) && ready(l), describe(s) + ", " + describe(l)
		})
		c.sicken(t)
	}
}

// await waits until each cell is as it should be, and reports all those that never are.
func (m *matrix) await(t *testing.T, what string, ok func(c *cell) (bool, string)) {
	t.Helper()
	wrong := map[*cell]string{}
	for _, c := range m.cells {
		wrong[c] = ""
	}
	for end := time.Now().Add(kube.Deadline); len(wrong) > 0; time.Sleep(sampleInterval) {
		for c := range wrong {
			good, state := ok(c)
			if wrong[c] = state; good {
				delete(wrong, c)
			}
		}
		if time.Now().After(end) {
			break
		}
	}
	for _, c := range m.cells {
		if state, never := wrong[c]; never {
			t.Errorf("%s: want %s, got %s", c.name, what, state)
		}
	}
}

// say waits until each Object that stays says what is wrong, or is Ready and has the resource, unless nothing can be
// done on its target.
func (m *matrix) say(t *testing.T) {
	t.Helper()
	began := time.Now()
	m.await(t, "an Object that says what is wrong, or is truly Ready", func(c *cell) (bool, string) {
		o := m.record.get(c.name + staying)
		if o == nil {
			return false, "gone"
		}
		return says(o) || ready(o) && !c.must() && m.exists(t, o.GetName()), describe(o)
	})
	t.Logf("all said it within %s", time.Since(began))
}

// leave deletes the Objects that leave.
func (m *matrix) leave(t *testing.T) {
	t.Helper()
	each(t, len(m.cells), func(i int) error {
		return m.c.Delete(t.Context(), build.Namespaced().Object(m.namespace, m.cells[i].name+leaving, "", nil))
	})
}

// depart waits until each Object that leaves is gone with its resource, or says what is wrong.
func (m *matrix) depart(t *testing.T) {
	t.Helper()
	m.await(t, "an Object that says what is wrong, or is truly gone", func(c *cell) (bool, string) {
		o := m.record.get(c.name + leaving)
		if o == nil {
			left := m.exists(t, c.name+leaving)
			return !left, fmt.Sprintf("gone, its resource is left: %t", left)
		}
		return says(o), describe(o)
	})
}

// exercised checks that each mode was met.
func (m *matrix) exercised(t *testing.T) {
	t.Helper()
	for _, c := range m.cells {
		if c.server.Hits(c.verb) == 0 {
			t.Errorf("%s: no request has met the mode", c.name)
		}
	}
}

// stay waits until what Objects say stays as it is: large answers of all targets are read a few at a time, so that the
// first word about one may be that it does not come.
func (m *matrix) stay(t *testing.T) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("no Object to say anything else within %s", calm), func() (bool, string) {
		since := time.Now()
		m.lives(t, calm)
		changed := m.record.unstable(since)
		return len(changed) == 0, strings.Join(changed, "\n")
	})
}

// heal makes all targets well, and waits until all Objects are.
func (m *matrix) heal(t *testing.T) {
	t.Helper()
	began := time.Now()
	for _, c := range m.cells {
		c.server.Heal()
	}
	m.await(t, "Objects that are well", func(c *cell) (bool, string) {
		s, l := m.record.get(c.name+staying), m.record.get(c.name+leaving)
		return s != nil && ready(s) && m.exists(t, s.GetName()) && l == nil && !m.exists(t, c.name+leaving),
			"staying: " + describe(s) + "; leaving: " + describe(l)
	})
	t.Logf("all were well within %s", time.Since(began))
}
