package main

import (
	"context"
	"time"
)

// swept is something that was done to all objects.
type swept struct {
	wall    time.Duration // from the first request to the last result
	took    durations     // from the request to the result, of each
	traffic traffic       // until the provider has settled
	all     usage         // until the last result
}

// sweepAll does something to all objects of a name, and waits until the provider has settled.
func (b *bed) sweepAll(ctx context.Context, seen *sighting, name string,
	do func(context.Context, int) error,
) (s swept, err error) {
	begin, err := b.mark()
	if err != nil {
		return s, err
	}
	s.all, err = spend(func() (err error) {
		s.wall, s.took, err = sweep(ctx, seen, b.options.n, func(ctx context.Context, i int) (string, error) {
			return named(name, i), do(ctx, i)
		})
		return err
	})
	if err != nil {
		return s, err
	}
	progressf("done after %.1fs, waiting for the provider to settle", s.wall.Seconds())
	if err := b.settle(ctx); err != nil {
		return s, err
	}
	s.traffic, err = b.since(begin)
	return s, err
}

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
