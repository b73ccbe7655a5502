package publication

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// TestBindingLooks follows objects of one workspace that are deleted one after the other.
func TestBindingLooks(t *testing.T) {
	type step struct {
		item, version string        // who asks, if anyone does
		after         time.Duration // since the first step
		as            string        // of the answer that comes then, if one does; "failed" is none
		leaves        bool
		want          string // known, leaves, asks, waits, or for how long it rests; of an answer, who is woken
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"OneForAll": {
			reason: "One look serves for all that were deleted before it.",
			steps: []step{
				{item: "a", version: "1", want: "asks"},
				{as: "9", want: ""},
				{item: "b", version: "7", want: "known"},
				{item: "c", version: "9", want: "known"},
			},
		},
		"Later": {
			reason: "Who was deleted later waits for the next look, which comes after a while.",
			steps: []step{
				{item: "a", version: "1", want: "asks"},
				{as: "9", want: ""},
				{item: "b", version: "10", after: time.Millisecond, want: (bindingsEvery - time.Millisecond).String()},
				{item: "b", version: "10", after: bindingsEvery, want: "asks"},
			},
		},
		"UnderWay": {
			reason: "Who comes while a look is under way waits for its answer.",
			steps: []step{
				{item: "a", version: "1", want: "asks"},
				{item: "b", version: "2", after: time.Minute, want: "waits"},
				{as: "9", want: "b"},
				{item: "b", version: "2", want: "known"},
			},
		},
		"Leaves": {
			reason: "That a workspace leaves is known of all that were deleted before.",
			steps: []step{
				{item: "a", version: "1", want: "asks"},
				{as: "9", leaves: true, want: ""},
				{item: "b", version: "2", want: "leaves"},
			},
		},
		"Failed": {
			reason: "A look that fails tells nothing, and wakes who waits.",
			steps: []step{
				{item: "a", version: "1", want: "asks"},
				{item: "b", version: "2", want: "waits"},
				{as: "failed", want: "b"},
				{item: "b", version: "2", want: bindingsEvery.String()},
				{item: "a", version: "1", after: bindingsEvery, want: "asks"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newBindingLooks()
			var look *bindingLook
			for i, s := range tc.steps {
				var got string
				if s.item != "" {
					item := objectsync.Primary{Cluster: "c", NamespacedName: types.NamespacedName{Name: s.item}}
					a := l.ask(item, s.version, time.Unix(0, 0).Add(s.after))
					if a.asks != nil {
						look = a.asks
					}
					got = a.describe()
				} else {
					as := s.as
					if as == "failed" {
						as = ""
					}
					var names []string
					for _, woken := range l.tell(look, as, s.leaves) {
						names = append(names, woken.Name)
					}
					got = strings.Join(names, " ")
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("%s Step %d: -want, +got:\n%s", tc.reason, i, diff)
				}
			}
		})
	}
}

func (a bindingAnswer) describe() string {
	switch {
	case a.leaves:
		return "leaves"
	case a.known:
		return "known"
	case a.asks != nil:
		return "asks"
	case a.after > 0:
		return a.after.String()
	}
	return "waits"
}
