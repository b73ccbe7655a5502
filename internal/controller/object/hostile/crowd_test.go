package hostile_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// crowdSize is how many targets there are if SOAK_TARGETS names no other number, and sickOf4 how many of each four
	// are sick.
	crowdSize = 40
	sickOf4   = 3
	// objectsEach is how many Objects each target has.
	objectsEach = 5
	// pace is the pause between the creation of two Objects whose time is measured: so few at a time that a busy
	// machine keeps up.
	pace = 40 * time.Millisecond
	// crowdMemory is by how many bytes all sick targets together may make the provider grow, beside floodMemory for each
	// that shows resources without end.
	crowdMemory = 50 << 20
	// patience is how long sick targets are left alone before what they cost is measured again.
	patience = 30 * time.Second
)

// TestCrowdOfHostileTargets shows that the Objects of the healthy targets among many sick ones, in all modes at once,
// become Ready beside them, that the sick ones cost little memory, and that all are well once their targets are.
func TestCrowdOfHostileTargets(t *testing.T) {
	w := newWorld(t)
	c := newCrowd(t, w)
	c.wave(t) // What comes first connects, and lists.
	c.figure(t, "alone")
	memoryOf := w.measure(t)
	began := time.Now()
	c.addSick(t)
	c.figure(t, "as sick targets come")
	w.lives(t, patience-time.Since(began))
	c.figure(t, "beside sick targets")
	memoryOf.report(t, w)
	if most := mayHold(crowdMemory, c.sick); memoryOf.growth() > most {
		t.Errorf("memory grew by %d MB, want at most %d MB", memoryOf.growth()>>20, most>>20)
	}
	c.heal(t)
}

// A crowd is many targets. Most of them are sick.
type crowd struct {
	world

	namespace string
	record    *record
	healthy   []string // the names of their ProviderConfigs
	sick      []*cell
	sink      *hostile.Sink
	waves     int
}

// newCrowd connects the healthy targets. The sick ones are there, and nobody is connected to them yet.
func newCrowd(t *testing.T, w world) *crowd {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("SOAK_TARGETS"), strconv.Itoa(crowdSize)))
	if err != nil {
		t.Fatalf("SOAK_TARGETS: %v", err)
	}
	c := &crowd{world: w, namespace: local.Namespace(t), sink: hostile.NewSink(t, "canary-of-the-sink")}
	c.record = w.watch(t, c.namespace)
	modes := slices.DeleteFunc(table(), (*cell).late) // Those are well at first.
	most := n * sickOf4 / 4
	for i := range n {
		if len(c.sick) < most && i%4 < sickOf4 {
			sick := *modes[len(c.sick)*len(modes)/most]
			sick.name = fmt.Sprintf("sick-%03d-%s", i, sick.name)
			sick.start(t, w, c.sink)
			sick.sicken(t)
			c.sick = append(c.sick, &sick)
			continue
		}
		name := fmt.Sprintf("well-%03d", i)
		front := w.front(t, name, hostile.Options{})
		if err := w.connect(t, c.namespace, name, front.Config()); err != nil {
			t.Fatal(err)
		}
		c.healthy = append(c.healthy, name)
	}
	t.Logf("%d healthy and %d sick targets, each with %d Objects", len(c.healthy), len(c.sick), objectsEach)
	return c
}

// wave makes Objects of the healthy targets, at an even pace, and deletes them when all are Ready. It returns the time
// until 99 of a hundred were.
func (c *crowd) wave(t *testing.T) time.Duration {
	t.Helper()
	c.waves++
	var objs []build.Object
	var began []time.Time
	for i := range objectsEach {
		for _, config := range c.healthy {
			o := c.object(c.namespace, fmt.Sprintf("%s-%d-%d", config, c.waves, i), config)
			began = append(began, time.Now())
			kube.Create(t, c.c, o)
			objs = append(objs, o)
			time.Sleep(time.Until(began[len(began)-1].Add(pace))) // The pace does not depend on what is measured.
		}
	}
	var took []time.Duration
	for i, o := range objs {
		var at time.Time
		kube.Eventually(t, "Object of a healthy target to be Ready", func() (ok bool, state string) {
			at, ok = c.record.readySince(o.GetName())
			return ok, describe(c.record.get(o.GetName()))
		})
		took = append(took, at.Sub(began[i]))
	}
	each(t, len(objs), func(i int) error { return c.c.Delete(t.Context(), objs[i]) })
	for _, o := range objs {
		kube.Eventually(t, "Object of a healthy target to go", func() (bool, string) {
			return c.record.get(o.GetName()) == nil, describe(c.record.get(o.GetName()))
		})
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("%d Objects of healthy targets are Ready within: half %s, 99 of 100 %s, all %s", len(took),
		took[len(took)/2], p99, took[len(took)-1])
	return p99
}

// figure prints how fast the healthy targets are.
func (c *crowd) figure(t *testing.T, when string) {
	t.Helper()
	kube.Figure(t, "time until 99 of 100 Objects of healthy targets are Ready "+when,
		func() time.Duration { return c.wave(t) })
}

// addSick connects the sick targets and makes their Objects.
func (c *crowd) addSick(t *testing.T) {
	t.Helper()
	each(t, len(c.sick), func(i int) error {
		s := c.sick[i]
		if err := c.connect(t, c.namespace, s.name, s.server.Config()); err != nil {
			return err
		}
		for n := range objectsEach {
			if err := c.c.Create(t.Context(),
				c.object(c.namespace, fmt.Sprintf("%s-%d", s.name, n), s.name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// heal makes all targets well, and waits until their Objects are.
func (c *crowd) heal(t *testing.T) {
	t.Helper()
	ill := map[string]bool{}
	for _, s := range c.sick {
		for n := range objectsEach {
			ill[fmt.Sprintf("%s-%d", s.name, n)] = true
		}
	}
	began := time.Now()
	for _, s := range c.sick {
		s.server.Heal()
	}
	kube.Figure(t, fmt.Sprintf("time until %d Objects of sick targets are well", len(ill)), func() time.Duration {
		kube.Eventually(t, "Objects of sick targets to be well", func() (bool, string) {
			for name := range ill {
				if o := c.record.get(name); o != nil && ready(o) && c.exists(t, name) {
					delete(ill, name)
				}
			}
			for name := range ill {
				return false, fmt.Sprintf("%d are not, as %s: %s", len(ill), name, describe(c.record.get(name)))
			}
			return true, ""
		})
		return time.Since(began)
	})
}
