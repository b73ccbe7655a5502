package publishedresource

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLasting(t *testing.T) {
	type want struct {
		lasting map[string]bool
		next    time.Duration
	}
	type look struct {
		after    time.Duration // since the first look
		problems []string
		want     want
	}
	none := map[string]bool{}
	cases := map[string]struct {
		reason string
		looks  []look
	}{
		"Passes": {
			reason: "What has passed in time never lasts, and begins anew if it comes again.",
			looks: []look{
				{after: 0, problems: []string{"a"}, want: want{none, settleMax}},
				{after: time.Second, problems: nil, want: want{none, 0}},
				{after: settleMax, problems: []string{"a"}, want: want{none, settleMax}},
			},
		},
		"Lasts": {
			reason: "What is still so after settleMax lasts.",
			looks: []look{
				{after: 0, problems: []string{"a"}, want: want{none, settleMax}},
				{after: settleMax - time.Second, problems: []string{"a"}, want: want{none, time.Second}},
				{after: settleMax, problems: []string{"a"}, want: want{map[string]bool{"a": true}, 0}},
				{after: 2 * settleMax, problems: []string{"a"}, want: want{map[string]bool{"a": true}, 0}},
			},
		},
		"Several": {
			reason: "Each problem has a time of its own, and the next one counts.",
			looks: []look{
				{after: 0, problems: []string{"a"}, want: want{none, settleMax}},
				{after: time.Second, problems: []string{"a", "b"}, want: want{none, settleMax - time.Second}},
				{after: settleMax, problems: []string{"a", "b"}, want: want{map[string]bool{"a": true}, time.Second}},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			for _, l := range tc.looks {
				var got want
				got.lasting, got.next = m.lasting(l.problems, time.Unix(0, 0).Add(l.after))
				if diff := cmp.Diff(l.want, got, cmp.AllowUnexported(want{})); diff != "" {
					t.Errorf("%s after %s\n-want, +got:\n%s", tc.reason, l.after, diff)
				}
			}
		})
	}
}
