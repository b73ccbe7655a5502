package main

import "testing"

// TestIntervals shows which intervals are refused: the provider would look all the time.
func TestIntervals(t *testing.T) {
	for arg, refused := range map[string]bool{
		"--poll=0":                     false, // Changes are seen all the same.
		"--sync=0":                     false,
		"--sync=-1s":                   true,
		"--poll-state-metric=0":        true,
		"--poll-state-metric=1s":       false,
		"--poll-jitter-percentage=99":  false,
		"--poll-jitter-percentage=100": true,
	} {
		f := parse(t, arg)
		if err := f.check(); (err != nil) != refused {
			t.Errorf("%s: want it refused: %t, got %v", arg, refused, err)
		}
	}
}
