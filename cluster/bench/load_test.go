package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
)

func TestQuantile(t *testing.T) {
	hundred := make(durations, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i) // 100 to 1
	}
	for name, tc := range map[string]struct {
		reason string
		of     durations
		share  float64
		want   time.Duration
	}{
		"None":   {reason: "Nothing measured is nothing.", share: median, want: 0},
		"One":    {reason: "One value is every quantile.", of: durations{7}, share: p99, want: 7},
		"Median": {reason: "Half of the values do not exceed the median.", of: hundred, share: median, want: 50},
		"P99":    {reason: "99 of 100 values do not exceed the 99th.", of: hundred, share: p99, want: 99},
		"P99OfFew": {
			reason: "With fewer than 100 values the largest is needed.",
			of:     hundred[:50],
			share:  p99,
			want:   100,
		},
		"MedianOfFour": {
			reason: "Two of four values do not exceed the second.",
			of:     durations{4, 3, 2, 1},
			share:  median,
			want:   2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.of.quantile(tc.share)); diff != "" {
				t.Errorf("%s\nquantile: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestEach(t *testing.T) {
	var sum atomic.Int64
	err := each(t.Context(), 100, func(_ context.Context, i int) error {
		sum.Add(int64(i))
		return nil
	})
	if diff := cmp.Diff(int64(4950), sum.Load()); diff != "" || err != nil {
		t.Errorf("sum of 0 to 99: -want, +got:\n%s\nerror: %v", diff, err)
	}
}

func TestEachStopsAtAnError(t *testing.T) {
	errBoom := errors.New("boom")
	var calls atomic.Int64
	err := each(t.Context(), 1000, func(context.Context, int) error {
		calls.Add(1)
		return errBoom
	})
	if diff := cmp.Diff(errBoom, err, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("error: -want, +got:\n%s", diff)
	}
	if got := calls.Load(); got > workers {
		t.Errorf("calls: want at most one for each of %d workers, got %d", workers, got)
	}
}
