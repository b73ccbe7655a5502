package targetresource

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestDrift shows that a hundred changes are reverted at once and further ones once a minute, that this is a fight, and
// that the fight is over when a revert lasts.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, o := &Drift{}, informer.Owner{NamespacedName: types.NamespacedName{Name: "o"}}
		time.Sleep(time.Hour)
		for n := range driftBurst {
			if wait := d.Wait(o); wait != 0 {
				t.Fatalf("revert %d: want it at once, got a pause of %s", n, wait)
			}
			if fights := d.Fights(o) > 0; fights != (n >= driftBurst*2/3) {
				t.Fatalf("revert %d: fights is %t", n, fights)
			}
		}
		for range 5 {
			if wait := d.Wait(o); wait != driftPause {
				t.Fatalf("want a pause of %s, got %s", driftPause, wait)
			}
			time.Sleep(driftPause)
			if wait := d.Wait(o); wait != 0 || d.Fights(o) != driftPeace {
				t.Fatalf("want a revert a minute in a fight, got a pause of %s", wait)
			}
		}
		time.Sleep(d.Fights(o))
		if d.Fights(o) != 0 || d.Reverts(o) != 0 || d.Wait(o) != 0 {
			t.Error("want the fight to be over")
		}
	})
}
