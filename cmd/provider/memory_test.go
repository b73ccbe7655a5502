package main

import "testing"

func TestGarbagePercent(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: 400, 15 * mib: 125, 60 * mib: 50, 1500 * mib: 26} {
		if got := garbagePercent(live); got != want {
			t.Errorf("%d MiB: want %d, got %d", live/mib, want, got)
		}
	}
}
