package main

import (
	"context"
	"time"
)

// sweep does something n times and waits until the object that each is about, whose name it returns, is seen as wanted.
// It returns how long that took from the first beginning to the last sight, and each from its beginning. It closes the
// sighting.
func sweep(ctx context.Context, seen *sighting, n int,
	do func(context.Context, int) (string, error),
) (time.Duration, durations, error) {
	defer seen.close()
	begin, begins, names := time.Now(), make([]time.Time, n), make([]string, n)
	err := each(ctx, n, func(ctx context.Context, i int) (err error) {
		begins[i] = time.Now()
		names[i], err = do(ctx, i)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	last, took := begin, make(durations, n)
	for i := range n {
		at, err := seen.await(ctx, names[i])
		if err != nil {
			return 0, nil, err
		}
		took[i] = at.Sub(begins[i])
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(begin), took, nil
}
