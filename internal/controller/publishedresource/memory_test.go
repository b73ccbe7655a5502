package publishedresource

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestStatusWaits shows when a status is written that differs from the last one.
func TestStatusWaits(t *testing.T) {
	type write struct {
		after          time.Duration // since the first one
		failed, synced int64         // objects by then
		want           time.Duration
	}
	cases := map[string]struct {
		reason    string
		published bool // at the time of the first one
		writes    []write
	}{
		"Burst": {
			reason: "Counts are written again after a while.",
			writes: []write{
				{synced: 1},
				{after: statusEvery / 4, synced: 2, want: statusEvery * 3 / 4},
				{after: statusEvery, synced: 3},
				{after: statusEvery * 3 / 2, synced: 4, want: statusEvery / 2},
			},
		},
		"Failure": {
			reason: "That objects begin to fail is written at once, and what comes then waits.",
			writes: []write{
				{synced: 1},
				{after: statusEvery / 4, synced: 1, failed: 1},
				{after: statusEvery / 2, synced: 1, failed: 2, want: statusEvery * 3 / 4},
				{after: statusEvery / 2, synced: 3, want: statusEvery * 3 / 4},
			},
		},
		"Published": {
			reason:    "After a publication all but failures waits, and comes together then.",
			published: true,
			writes: []write{
				{synced: 1, want: publishedCalm},
				{after: publishedCalm / 2, failed: 1},
				{after: publishedCalm * 3 / 4, synced: 1, want: publishedCalm / 4},
				{after: publishedCalm, synced: 1},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, was := &memory{}, &v1alpha1.PublishedResource{}
			if tc.published {
				m.published = time.Unix(0, 0)
			}
			for _, w := range tc.writes {
				is := was.DeepCopy()
				is.Status.Objects = &v1alpha1.ObjectCounts{Synced: w.synced, Failed: w.failed}
				got := m.wait(was, is, time.Unix(0, 0).Add(w.after))
				if got != w.want {
					t.Errorf("%s After %s: want a wait of %s, got %s", tc.reason, w.after, w.want, got)
				}
				if got == 0 {
					was = is
				}
			}
		})
	}
}

// TestLasting shows which problems have lasted, and when the next one will have.
func TestLasting(t *testing.T) {
	type look struct {
		after    time.Duration // since the first look
		problems string        // separated by spaces
		lasting  string        // likewise
		next     time.Duration
	}
	cases := map[string]struct {
		reason string
		looks  []look
	}{
		"Passes": {
			reason: "What has passed in time never lasts, and begins anew if it comes again.",
			looks: []look{
				{after: 0, problems: "a", next: settleMax},
				{after: time.Second},
				{after: settleMax, problems: "a", next: settleMax},
			},
		},
		"Lasts": {
			reason: "What is still so after settleMax lasts. Each problem has a time of its own, and the next one counts.",
			looks: []look{
				{after: 0, problems: "a", next: settleMax},
				{after: time.Second, problems: "a b", next: settleMax - time.Second},
				{after: settleMax, problems: "a b", lasting: "a", next: time.Second},
				{after: 2 * settleMax, problems: "a b", lasting: "a b"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			for _, l := range tc.looks {
				lasting, next := m.lasting(strings.Fields(l.problems), time.Unix(0, 0).Add(l.after))
				got := strings.Join(slices.Sorted(maps.Keys(lasting)), " ")
				if got != l.lasting || next != l.next {
					t.Errorf("%s After %s: want %q lasting and %s to the next, got %q and %s", tc.reason, l.after, l.lasting,
						l.next, got, next)
				}
			}
		})
	}
}
