package publishedresource

import (
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestCountWrites(t *testing.T) {
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
	cases := map[string]struct {
		reason string
		writes []write
	}{
		"First": {
			reason: "Counts that are new are written at once.",
			writes: []write{{0, objects(1, 0), 0}, {time.Second, workspaces(1), 0}},
		},
		"Burst": {
			reason: "Counts are written again after a while.",
			writes: []write{
				{0, objects(1, 0), 0},
				{time.Second, objects(2, 0), countsEvery - time.Second},
				{2 * time.Second, objects(3, 0), countsEvery - 2*time.Second},
				{countsEvery, objects(4, 0), 0},
				{countsEvery + time.Second, objects(5, 0), countsEvery - time.Second},
			},
		},
		"Calm": {
			reason: "Those that have not changed for a while are written at once.",
			writes: []write{{0, objects(1, 0), 0}, {2 * countsEvery, objects(2, 0), 0}},
		},
		"Condition": {
			reason: "A condition does not wait, and takes the counts with it.",
			writes: []write{
				{0, objects(1, 0), 0},
				{time.Second, func(s *v1alpha1.PublishedResourceStatus) {
					s.SetConditions(xpv2.Available())
					s.Objects = &v1alpha1.ObjectCounts{Synced: 2}
				}, 0},
				{2 * time.Second, objects(3, 0), countsEvery - time.Second},
			},
		},
		"ConditionAlone": {
			reason: "A condition alone does not have counts wait.",
			writes: []write{
				{0, objects(1, 0), 0},
				{countsEvery - time.Second, func(s *v1alpha1.PublishedResourceStatus) { s.SetConditions(xpv2.Available()) }, 0},
				{countsEvery, objects(2, 0), 0},
			},
		},
		"Failure": {
			reason: "That any object fails, and that none does any more, is written at once, and how many fail is a count.",
			writes: []write{
				{0, objects(1, 0), 0},
				{time.Second, objects(2, 1), 0},
				{2 * time.Second, objects(2, 2), countsEvery - time.Second},
				{3 * time.Second, objects(4, 0), 0},
			},
		},
		"Ended": {
			reason: "That nothing is synced any more is written at once.",
			writes: []write{{0, objects(1, 0), 0}, {time.Second, func(s *v1alpha1.PublishedResourceStatus) { s.Objects = nil }, 0}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			counts, was := newCountWrites(), &v1alpha1.PublishedResource{}
			for _, w := range tc.writes {
				is := was.DeepCopy()
				w.change(&is.Status)
				got := counts.wait(was, is, time.Unix(0, 0).Add(w.after))
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
