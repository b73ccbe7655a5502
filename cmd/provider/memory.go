package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// spareFraction of what lives, and spareBytes beside that, is how much garbage there may be before it is collected.
	// What lives long is the caches, and a provider has many of its kind beside it; but with few resources, a fraction
	// alone would have a quarter of the processor's time go to collections when all of them change.
	spareFraction = 0.25
	spareBytes    = 15 << 20

	// liveBytes is the metric that says how much was not garbage at the last collection.
	liveBytes = "/gc/heap/live:bytes"
)

// limitGarbage has the garbage collector leave no more than it is to, unless the environment sets GOGC. Go knows a
// fraction only, so that it is told another one after each collection.
func limitGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: liveBytes}}
	metrics.Read(live)
	debug.SetGCPercent(garbagePercent(live[0].Value.Uint64()))
	runtime.AddCleanup(new(*int), func(struct{}) { limitGarbage() }, struct{}{})
}

// garbagePercent returns how much garbage there may be, as a percentage of the bytes that live.
func garbagePercent(live uint64) int {
	const least = 4 << 20 // Go collects no heap that is smaller.
	return int(100 * (spareFraction + float64(spareBytes)/float64(max(live, least))))
}
