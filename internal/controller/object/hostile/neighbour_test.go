package hostile_test

import (
	"fmt"
	"slices"
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
