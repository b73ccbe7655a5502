package e2e_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestAtRestSilentWhateverTheShape shows that a thousand settled Objects that refer to each other, publish connection
// details, ask queries, observe, preview and adopt cost as little as plain ones.
func TestAtRestSilentWhateverTheShape(t *testing.T) {
	const (
		total = 1000
		poll  = 10 * time.Second
		// polls is how often each Object is polled at least, although the interval varies.
		polls = 3
	)
	c, tc := clients(t)
	at := newBed(t, c)
	p := start(t, "--poll="+poll.String(), "--poll-jitter-percentage=10")
	kinds := shapes()
	maps.Copy(kinds, newShapes())
	var all []*subject
	for round := 0; len(all) < total; round++ {
		all = append(all, oneOfEach(kinds, at, round)...)
	}
	if err := each(len(all), func(i int) error { return all[i].create(t.Context(), c, tc, at.namespace) }); err != nil {
		t.Fatal(err)
	}
	awaitSynced(t, c, all)
	awaitSilence(t)

	m, before := mark(t), reconciles(t, p)
	kube.Eventually(t, "three polls for each Object", func() (bool, string) {
		n := reconciles(t, p) - before
		return n >= len(all)*polls, fmt.Sprintf("%d reconciles", n)
	})
	for server, got := range map[string]map[string]int{
		"control plane": m.onLocal(t).Count(), "target": m.onTarget(t).Count(),
	} {
		if diff := cmp.Diff(map[string]int(nil), got); diff != "" {
			t.Errorf("requests to the %s by %d settled Objects in %d polls: -want, +got:\n%s", server, len(all), polls,
				diff)
		}
	}
}
