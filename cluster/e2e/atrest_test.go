package e2e_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// reconciles returns how often the provider has reconciled Objects.
func reconciles(t *testing.T, p *provider.Process) int {
	t.Helper()
	sum := 0
	_, metrics := get(t, p.Metrics())
	for line := range strings.Lines(metrics) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(name, "controller_runtime_reconcile_total{") && strings.Contains(name, `"managed/object.`) {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

func TestAtRestSilent(t *testing.T) {
	const objects, polls = 50, 6
	c, _ := clients(t)
	p := start(t, "--poll=1s")
	newFleet(t, c, objects).settle(t, c)

	m, before := mark(t), reconciles(t, p)
	kube.Eventually(t, "six polls for each Object", func() (bool, string) {
		n := reconciles(t, p) - before
		return n >= objects*polls, fmt.Sprintf("%d reconciles", n)
	})
	for server, got := range map[string]map[string]int{
		"control plane": m.onLocal(t).Count(), "target": m.onTarget(t).Count(),
	} {
		if diff := cmp.Diff(map[string]int(nil), got); diff != "" {
			t.Errorf("requests to the %s by %d settled Objects in %d polls: -want, +got:\n%s", server, objects, polls, diff)
		}
	}
}
