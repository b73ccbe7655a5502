package publishedresource

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TestClaim shows that the first to claim a resource of an APIExport has it until it goes or moves.
func TestClaim(t *testing.T) {
	m := newMemories()
	hats := exportedResource{server: "a", export: "shop", resource: schema.GroupResource{Resource: "hats"}}
	coats := exportedResource{server: "a", export: "shop", resource: schema.GroupResource{Resource: "coats"}}
	claim := func(r exportedResource, name string) string { m.get(name); return m.claim(r, name) }
	for _, step := range []struct {
		reason string
		do     func() string
		want   string
	}{
		{reason: "Who comes first has it.", do: func() string { return claim(hats, "one") }, want: "one"},
		{reason: "Who comes again has it still.", do: func() string { return claim(hats, "one") }, want: "one"},
		{reason: "Who comes later has not.", do: func() string { return claim(hats, "two") }, want: "one"},
		{reason: "It has nothing.", do: func() string { return m.of["two"].holds.export }, want: ""},
		{reason: "Another place is free.", do: func() string { return claim(coats, "three") }, want: "three"},
		{
			reason: "Who moves leaves its place.",
			do:     func() string { m.forget("three"); claim(coats, "one"); return m.of["one"].holds.resource.Resource },
			want:   "coats",
		},
		{reason: "Then it is free.", do: func() string { return claim(hats, "two") }, want: "two"},
		{
			reason: "So it is when who has it goes.",
			do:     func() string { m.forget("two"); return claim(hats, "one") },
			want:   "one",
		},
	} {
		if got := step.do(); got != step.want {
			t.Errorf("%s want %q, got %q", step.reason, step.want, got)
		}
	}
}
