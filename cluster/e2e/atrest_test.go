package e2e_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAtRestSilent(t *testing.T) {
	c, _ := clients(t)
	p := start(t, "--poll=5s")
	newFleet(t, c, 50).settle(t, c)

	m := mark(t)
	// Silence gives no sign to wait for: it is what there is when the time is over. Each Object is polled six times
	// meanwhile.
	select {
	case <-time.After(30 * time.Second):
	case <-p.Exited():
		t.Fatal("the provider has ended")
	}
	for server, got := range map[string]map[string]int{
		"control plane": m.onLocal(t).Count(), "target": m.onTarget(t).Count(),
	} {
		if diff := cmp.Diff(map[string]int(nil), got); diff != "" {
			t.Errorf("requests to the %s by 50 settled Objects in 30 s: -want, +got:\n%s", server, diff)
		}
	}
}
