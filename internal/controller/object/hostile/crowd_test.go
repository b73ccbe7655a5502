package hostile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// crowdSize is how many targets there are if SOAK_TARGETS names no other number, and sickOf4 how many of each four
	// are sick.
	crowdSize = 40
	sickOf4   = 3
	// waveSize is how many Objects of each healthy target are made at a time.
	waveSize = 5
	// calm is how long what Objects say must stay as it is: longer than several retries.
	calm = 10 * time.Second
	// crowdMemory and matrixMemory are by how many bytes all sick targets of a test together may make the provider grow,
	// for however short a time.
	crowdMemory  = 50 << 20
	matrixMemory = 200 << 20
	// floodMemory is how many bytes a target may cost beside that which shows resources without end, as docs/tenancy.md
	// says: 64 MiB are held, beside a list of 32 MiB that is read.
	floodMemory = (64 + 32) << 20
)

// leaving ends the names of Objects that are deleted while their targets are sick.
const leaving = "-leaving"

// TestHostileTargets shows, for each mode of a hostile server and each verb an Object sends, all at the same time, that
// a healthy target is kept, that memory is bounded, that nothing a server invents is shown, and that the Objects of the
// sick targets say what is wrong, say it steadily, and are well as soon as their targets are.
func TestHostileTargets(t *testing.T) {
	w := newWorld(t)
	c := newCrowd(t, w, table(), 1, "-staying", leaving)
	bounded := c.measure(t, matrixMemory)
	c.addSick(t)
	c.wave(t, "as sick targets come")
	c.say(t)
	c.leave(t)
	c.wave(t, "as Objects of sick targets are deleted")
	c.depart(t)
	for _, s := range c.sick {
		if s.server.Hits(s.verb) == 0 {
			t.Errorf("%s: no request has met the mode", s.name)
		}
	}
	c.calmDown(t)
	c.wave(t, "beside sick targets")
	bounded()
	c.heal(t)
	w.showsNothingForeign(t)
}

// TestCrowdOfHostileTargets shows that the Objects of the healthy targets among many sick ones, in all modes at once,
// become Ready beside them, that the sick ones cost little memory, and that all are well once their targets are.
func TestCrowdOfHostileTargets(t *testing.T) {
	n, modes := kube.Setting(t, "SOAK_TARGETS", crowdSize), slices.DeleteFunc(table(), (*cell).late)
	sick := make([]*cell, n*sickOf4/4)
	for i := range sick {
		s := *modes[i*len(modes)/len(sick)]
		s.name = fmt.Sprintf("sick-%03d-%s", i, s.name)
		sick[i] = &s
	}
	c := newCrowd(t, newWorld(t), sick, n-len(sick), "-0", "-1", "-2", "-3", "-4")
	bounded := c.measure(t, crowdMemory)
	c.addSick(t)
	c.wave(t, "as sick targets come")
	c.say(t)
	c.wave(t, "beside sick targets")
	bounded()
	c.heal(t)
}

// A crowd is many targets, most of them sick.
type crowd struct {
	world

	healthy []string // the names of their ProviderConfigs
	sick    []*cell
	objects []string // what the names of the Objects of a sick target have behind that of the target
	waves   int
}

// newCrowd connects healthy targets, which list then. The sick ones are there, and nobody is connected to them yet.
func newCrowd(t *testing.T, w world, sick []*cell, healthy int, objects ...string) *crowd {
	t.Helper()
	c := &crowd{world: w, sick: sick, objects: objects}
	for _, s := range sick {
		s.start(t, w)
	}
	for i := range healthy {
		name := fmt.Sprintf("well-%03d", i)
		if err := w.connect(t, name, w.front(t, name, hostile.Options{}).Config()); err != nil {
			t.Fatal(err)
		}
		c.healthy = append(c.healthy, name)
	}
	c.wave(t, "alone")
	return c
}

// measure returns what checks by how much the provider has grown.
func (c *crowd) measure(t *testing.T, most int64) (check func()) {
	t.Helper()
	peak := func() int64 {
		n, err := c.process.PeakRSS()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, s := range c.sick {
		if s.mode.Name == "Flood" {
			most += floodMemory
		}
	}
	before := peak()
	return func() {
		t.Helper()
		if grown := peak() - before; grown > most {
			t.Errorf("memory grew by %d MB, want at most %d MB", grown>>20, most>>20)
		}
	}
}

// wave makes Objects of the healthy targets, and deletes them when all are Ready.
func (c *crowd) wave(t *testing.T, when string) {
	t.Helper()
	c.waves++
	var objs []client.Object
	for i := range waveSize {
		for _, config := range c.healthy {
			objs = append(objs, c.object(fmt.Sprintf("%s-%d-%d", config, c.waves, i), config))
		}
	}
	kube.Figure(t, fmt.Sprintf("time until %d Objects of healthy targets are Ready %s", len(objs), when),
		func() time.Duration {
			began := time.Now()
			kube.Create(t, c.c, objs...)
			for _, o := range objs {
				kube.Eventually(t, "Object of a healthy target to be Ready", func() (bool, string) {
					is := c.record.get(o.GetName())
					return is != nil && ready(is), describe(is)
				})
			}
			return time.Since(began)
		})
	kube.Remove(t, c.c, objs...)
}

// addSick makes the targets sick, and connects them and makes their Objects. Those that are sick late are well until
// these are Ready.
func (c *crowd) addSick(t *testing.T) {
	t.Helper()
	each(t, c.sick, func(s *cell) error {
		if !s.late() {
			s.sicken(t)
		}
		if err := c.connect(t, s.name, s.server.Config()); err != nil {
			return err
		}
		for _, n := range c.objects {
			if err := c.c.Create(t.Context(), c.object(s.name+n, s.name)); err != nil {
				return err
			}
		}
		return nil
	})
	c.await(t, "Objects that are Ready before their target is sick", func(s *cell, o build.Object, _ string) bool {
		return !s.late() || o != nil && ready(o)
	})
	for _, s := range c.sick {
		if s.late() {
			s.sicken(t)
		}
	}
}

// await waits until each Object of the sick targets, which is nil if it is gone, is as it should be, and reports all
// those that never are.
func (c *crowd) await(t *testing.T, what string, ok func(s *cell, o build.Object, name string) bool) {
	t.Helper()
	wrong := map[string]*cell{}
	for _, s := range c.sick {
		for _, n := range c.objects {
			wrong[s.name+n] = s
		}
	}
	kube.Eventually(t, what, func() (bool, string) {
		var states []string
		for name, s := range wrong {
			if o := c.record.get(name); ok(s, o, name) {
				delete(wrong, name)
			} else {
				states = append(states, name+": "+describe(o))
			}
		}
		return len(wrong) == 0, strings.Join(states, "\n")
	})
}

// say waits until each Object says what is wrong, or is Ready and has the resource, unless nothing can be done on its
// target.
func (c *crowd) say(t *testing.T) {
	t.Helper()
	c.await(t, "Objects that say what is wrong, or are truly Ready", func(s *cell, o build.Object, name string) bool {
		return o != nil && (says(o) || ready(o) && !s.must() && c.exists(t, name))
	})
}

// leave deletes the Objects that leave.
func (c *crowd) leave(t *testing.T) {
	t.Helper()
	each(t, c.sick, func(s *cell) error { return c.c.Delete(t.Context(), c.object(s.name+leaving, s.name)) })
}

// depart waits until each Object that leaves is gone with its resource, or says what is wrong.
func (c *crowd) depart(t *testing.T) {
	t.Helper()
	c.await(t, "Objects that say what is wrong, or are truly gone", func(_ *cell, o build.Object, name string) bool {
		return !strings.HasSuffix(name, leaving) || o == nil && !c.exists(t, name) || o != nil && says(o)
	})
}

// calmDown waits until what Objects say stays as it is: large answers of all targets are read a few at a time, so that
// the first word about one may be that it does not come.
func (c *crowd) calmDown(t *testing.T) {
	t.Helper()
	kube.Eventually(t, fmt.Sprintf("no Object to say anything else within %s", calm), func() (bool, string) {
		since := time.Now()
		kube.Throughout(t, calm, "the provider lives", func() (bool, string) {
			select {
			case <-c.process.Exited():
				return false, fmt.Sprintf("it has ended with %d", c.process.ExitCode())
			default:
				return true, ""
			}
		})
		changed := c.record.unstable(since)
		return len(changed) == 0, strings.Join(changed, "\n")
	})
}

// heal makes all targets well, and waits until all Objects are.
func (c *crowd) heal(t *testing.T) {
	t.Helper()
	for _, s := range c.sick {
		s.server.Heal()
	}
	c.await(t, "Objects that are well", func(_ *cell, o build.Object, name string) bool {
		if strings.HasSuffix(name, leaving) {
			return o == nil && !c.exists(t, name)
		}
		return o != nil && ready(o) && c.exists(t, name)
	})
}
