package informer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFloodRests shows how long a stream rests after each flood.
func TestFloodRests(t *testing.T) {
	g := &watchSupervisor{}
	now := time.Now()
	var got []time.Duration
	next := func(flood bool) {
		if flood {
			g.flood(fullError{max: 1 << 20})
		}
		pause, err := g.rest(now)
		if (err != nil) != flood {
			t.Errorf("want an error after a flood only, got %v", err)
		}
		got = append(got, pause/time.Second)
		now = now.Add(pause + time.Second)
	}
	for range 6 {
		next(true)
	}
	next(false)
	now = now.Add(2 * floodForgotten)
	next(true)
	if diff := cmp.Diff([]time.Duration{4, 8, 16, 32, 60, 60, 0, 4}, got); diff != "" {
		t.Errorf("seconds of rest, -want, +got:\n%s", diff)
	}
}
