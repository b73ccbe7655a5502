package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWritesPerObject(t *testing.T) {
	const n = 100
	c, _ := clients(t)
	start(t)
	f := newFleet(t, c, n)
	awaitSilence(t)

	m := mark(t)
	f.settle(t, c)

	onTarget := writes(m.onTarget(t))
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
