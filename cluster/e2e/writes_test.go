package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

func TestWritesPerObject(t *testing.T) {
	const n = 100
	c, _ := clients(t)
	start(t)
	f := newFleet(t, c, n)
	awaitSilence(t)

	m := mark(t)
	f.settle(t, c)

	onTarget := m.onTarget(t).Writes()
	if diff := cmp.Diff(map[string]int{"patch configmaps": n}, onTarget.Count()); diff != "" {
		t.Errorf("writes to the target for %d Objects: -want, +got:\n%s", n, diff)
	}
	if diff := cmp.Diff([]int{1}, values(perName(onTarget))); diff != "" {
		t.Errorf("writes to the target for each Object: -want, +got:\n%s", diff)
	}
	if onLocal := m.onLocal(t); len(onLocal) > 5*n {
		t.Errorf("requests to the control plane for %d Objects: want at most %d, got %d: %v", n, 5*n, len(onLocal),
			onLocal.Count())
	}
}

// TestReconcilesPerCreation shows that an Object is reconciled once to make its resource, and once when the cache shows
// what that has written. A watch that is quicker than the answer to our own write adds one, which does nothing.
func TestReconcilesPerCreation(t *testing.T) {
	const n = 100
	c, _ := clients(t)
	p := start(t)
	f := newFleet(t, c, n)
	first := fleet{objects: f.objects[:2], namespace: f.namespace} // Of each scope one, for which the watches start.
	first.settle(t, c)

	before := reconciles(t, p)
	fleet{objects: f.objects[2:], namespace: f.namespace}.settle(t, c)
	if got := reconciles(t, p) - before; got > 3*n {
		t.Errorf("reconciles for %d new Objects: want at most %d, got %d", n, 3*n, got)
	}
}

// TestRequestsPerDeletion shows that a resource which goes at once costs one request to the target, and that its Object
// is then written once, to take the finalizer off.
func TestRequestsPerDeletion(t *testing.T) {
	const n = 100
	c, _ := clients(t)
	start(t)
	f := newFleet(t, c, n)
	f.settle(t, c)

	m := mark(t)
	if err := each(n, func(i int) error { return c.Delete(t.Context(), f.objects[i]) }); err != nil {
		t.Fatal(err)
	}
	for _, o := range f.objects {
		kube.AwaitGone(t, c, o)
	}
	awaitSilence(t)

	if diff := cmp.Diff(map[string]int{"delete configmaps": n}, m.onTarget(t).Count()); diff != "" {
		t.Errorf("requests to the target for %d deletions: -want, +got:\n%s", n, diff)
	}
	onLocal := m.onLocal(t).Writes().Count()
	got := onLocal["patch objects.kubernetes.crossplane.io"] + onLocal["patch objects.kubernetes.m.crossplane.io"]
	if got != n || onLocal["create events"] > n {
		t.Errorf("want %d deleted Objects written, and at most as many events, got %v", n, onLocal)
	}
}
