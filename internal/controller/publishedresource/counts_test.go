package publishedresource

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestCountsWait(t *testing.T) {
	type write struct {
		after  time.Duration // since the first one
		change func(s *v1alpha1.PublishedResourceStatus)
		want   time.Duration
	}
	objects := func(synced, failed int64) func(s *v1alpha1.PublishedResourceStatus) {
		return func(s *v1alpha1.PublishedResourceStatus) {
			s.Objects = &v1alpha1.ObjectCounts{Synced: synced, Failed: failed}
		}
	}
	workspaces := func(bound int64) func(s *v1alpha1.PublishedResourceStatus) {
		return func(s *v1alpha1.PublishedResourceStatus) { s.Workspaces = &v1alpha1.WorkspaceCounts{Bound: bound} }
	}
	condition := func(c xpv2.Condition) func(s *v1alpha1.PublishedResourceStatus) {
		return func(s *v1alpha1.PublishedResourceStatus) { s.SetConditions(c) }
	}
	cases := map[string]struct {
		reason    string
		published bool // at the time of the first one
		writes    []write
	}{
		"Published": {
			reason:    "After a publication all but failures waits, and comes together then.",
			published: true,
			writes: []write{
				{after: 0, change: condition(xpv2.ReconcileSuccess()), want: publishedCalm},
				{after: time.Second, change: condition(xpv2.ReconcileError(errSourceMissing)), want: 0},
				{after: time.Second, change: condition(xpv2.ReconcileSuccess()), want: publishedCalm - time.Second},
				{after: publishedCalm, change: condition(xpv2.ReconcileSuccess()), want: 0},
			},
		},
		"PublishedAnew": {
			reason:    "Neither are counts written after a publication, but that an object fails.",
			published: true,
			writes: []write{
				{after: time.Second, change: objects(1, 0), want: publishedCalm - time.Second},
				{after: time.Second, change: objects(1, 1), want: 0},
				{after: publishedCalm, change: objects(2, 2), want: countsEvery - time.Second},
			},
		},
		"First": {
			reason: "Counts that are new are written at once.",
			writes: []write{
				{after: 0, change: objects(1, 0), want: 0},
				{after: time.Second, change: workspaces(1), want: 0},
			},
		},
		"Burst": {
			reason: "Counts are written again after a while.",
			writes: []write{
				{after: 0, change: objects(1, 0), want: 0},
				{after: time.Second, change: objects(2, 0), want: countsEvery - time.Second},
				{after: 2 * time.Second, change: objects(3, 0), want: countsEvery - 2*time.Second},
				{after: countsEvery, change: objects(4, 0), want: 0},
				{after: countsEvery + time.Second, change: objects(5, 0), want: countsEvery - time.Second},
			},
		},
		"Calm": {
			reason: "Those that have not changed for a while are written at once.",
			writes: []write{
				{after: 0, change: objects(1, 0), want: 0},
				{after: 2 * countsEvery, change: objects(2, 0), want: 0},
			},
		},
		"Condition": {
			reason: "A condition does not wait, and takes the counts with it.",
			writes: []write{
				{after: 0, change: objects(1, 0), want: 0},
				{after: time.Second, change: func(s *v1alpha1.PublishedResourceStatus) {
					s.SetConditions(xpv2.Available())
					s.Objects = &v1alpha1.ObjectCounts{Synced: 2}
				}, want: 0},
				{after: 2 * time.Second, change: objects(3, 0), want: countsEvery - time.Second},
			},
		},
		"Failure": {
			reason: "That any object fails, and that none does any more, is written at once, and how many fail is a count.",
			writes: []write{
				{after: 0, change: objects(1, 0), want: 0},
				{after: time.Second, change: objects(2, 1), want: 0},
				{after: 2 * time.Second, change: objects(2, 2), want: countsEvery - time.Second},
				{after: 3 * time.Second, change: objects(4, 0), want: 0},
			},
		},
		"Ended": {
			reason: "That nothing is synced any more is written at once.",
			writes: []write{
				{after: 0, change: objects(1, 0), want: 0},
				{after: time.Second, change: func(s *v1alpha1.PublishedResourceStatus) { s.Objects = nil }, want: 0},
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
				w.change(&is.Status)
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
