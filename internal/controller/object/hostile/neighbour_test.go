package hostile_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// probes is how many Objects each measurement of a neighbour makes, one after the other.
	probes = 9
	// slack and share are by how much sick targets may slow down a healthy one: a share of its time alone, and the
	// slack on top.
	slack = 200 * time.Millisecond
	share = 1.2
	// worst is the longest that any Object of a healthy target may take, however busy the machine is. Waiting for one
	// request of a sick target takes longer.
	worst = 5 * time.Second
)

// A neighbour is a tenant whose target is well.
type neighbour struct {
	world

	namespace string
	record    *record
	alone     time.Duration // the median time until an Object is Ready, without sick targets
	made      int
	held      bool // an Object took so long that there is nothing left to measure
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
	n.alone = n.median(t)
	return n
}

// median makes Objects one after the other, and returns the median time until one is Ready.
func (n *neighbour) median(t *testing.T) time.Duration {
	t.Helper()
	took := make([]time.Duration, 0, probes)
	for len(took) < probes && !n.held {
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
	if err := n.c.Create(t.Context(), n.object(n.namespace, name, "well")); err != nil {
		t.Fatal(err)
	}
	var at time.Time
	kube.Eventually(t, soon, "Object of a healthy target to be Ready", func() (ok bool, state string) {
		at, ok = n.record.readySince(name)
		return ok, describe(n.record.get(name))
	})
	took := at.Sub(began)
	if n.held = took > worst; n.held {
		t.Errorf("an Object of a healthy target took %s, want at most %s", took, worst)
	}
	return took
}

// check shows that the neighbour is as fast as without sick targets.
func (n *neighbour) check(t *testing.T, when string) {
	t.Helper()
	if n.held {
		return
	}
	limit := time.Duration(share*float64(n.alone)) + slack
	kube.Within(t, limit, "median time until an Object of a healthy target is Ready "+when, func() time.Duration {
		if n.held {
			return 0 // It has failed.
		}
		took := n.median(t)
		t.Logf("%s: %s, alone %s", when, took, n.alone)
		return took
	})
}
