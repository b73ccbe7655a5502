package e2e_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// reconciles returns how often the provider has reconciled Objects.
func reconciles(t *testing.T, p *provider.Process) int {
	t.Helper()
	sum := 0
	for name, n := range program.Series(t, p) {
		if strings.HasPrefix(name, "controller_runtime_reconcile_total{") && strings.Contains(name, `"managed/object.`) {
			sum += int(n)
		}
	}
	return sum
}

// TestAtRestSilent shows that settled Objects of all shapes, which refer to each other, publish connection details, ask
// queries, observe, preview and adopt, ask nothing of any server. A provider that starts again writes nothing, tries no
// apply, and reads each Secret once.
func TestAtRestSilent(t *testing.T) {
	const polls = 6
	c, tc := clients(t)
	at := newBed(t, c)
	p := start(t, "--poll=1s")
	kinds := shapes()
	maps.Copy(kinds, newShapes())
	all := oneOfEach(kinds, at, 0)
	if err := each(len(all), func(i int) error { return all[i].create(t.Context(), c, tc, at.namespace) }); err != nil {
		t.Fatal(err)
	}
	awaitSynced(t, c, all)
	awaitSilence(t)

	m, before := mark(t), reconciles(t, p)
	kube.Eventually(t, "six polls for each Object", func() (bool, string) {
		n := reconciles(t, p) - before
		return n >= len(all)*polls, fmt.Sprintf("%d reconciles", n)
	})
	if asked := append(m.onLocal(t), m.onTarget(t)...); len(asked) > 0 {
		t.Errorf("requests by %d settled Objects in %d polls: want none, got\n%s", len(all), polls, asked)
	}

	p.Kill()
	m = mark(t)
	p = start(t)
	kube.Eventually(t, "a reconcile of each Object", func() (bool, string) {
		n := reconciles(t, p)
		return n >= len(all), fmt.Sprintf("%d reconciles", n)
	})
	awaitSilence(t)
	if written := append(m.onLocal(t), m.onTarget(t)...).Writes(); len(written) > 0 {
		t.Errorf("writes after a restart, dry runs included: want none, got\n%s", written)
	}
	for name, n := range perName(m.aboutSecrets(t)) {
		if n > 1 {
			t.Errorf("requests about Secret %s on the control plane: want one, got %d", name, n)
		}
	}
}
