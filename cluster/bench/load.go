package main

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// workers is how many requests of ours are under way at a time.
const workers = 20

// each calls f with 0 to n-1, by several workers, and returns the first error, after which it begins no more calls.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err) // Only the first call counts.
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// durations are measurements, in any order.
type durations []time.Duration

// quantile returns the smallest duration that a share of all, above 0 and up to 1, does not exceed; 0 if there are
// none.
func (d durations) quantile(share float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[i]
}
