package publication

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEmptyingPauses shows when a namespace that stays as it is gets looked at again, and that it is no more after a
// while, until another copy has left it.
func TestEmptyingPauses(t *testing.T) {
	e := newNamespaceCleanup()
	defer e.ShutDown()
	for _, turn := range []string{"after the first copy", "after the second"} {
		var got []time.Duration
		for range 10 {
			pause, more := e.pause("ns")
			if !more {
				break
			}
			got = append(got, pause)
		}
		if diff := cmp.Diff([]time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute},
			got); diff != "" {
			t.Errorf("pauses %s: -want, +got:\n%s", turn, diff)
		}
	}
}

// TestEmptyingBegins shows that pauses begin anew for a namespace that another copy leaves.
func TestEmptyingBegins(t *testing.T) {
	e := newNamespaceCleanup()
	defer e.ShutDown()
	for range 3 {
		e.pause("ns")
	}
	e.Forget("ns")
	if pause, more := e.pause("ns"); pause != time.Second || !more {
		t.Errorf("want the first pause, got %s, %t", pause, more)
	}
}
