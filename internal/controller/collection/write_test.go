package collection

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
)

func TestInTurn(t *testing.T) {
	errBoom, errOther := errors.New("boom"), errors.New("other")
	for name, tc := range map[string]struct {
		reason string
		count  int
		fail   func(i int) error
		want   error
		most   int // how many numbers are done at most; without an error it is all of them
	}{
		"None": {reason: "Nothing to do is no error."},
		"Many": {reason: "Each number is done once.", count: 1000, most: 1000},
		"First": {
			reason: "The error of the lowest number is returned.", count: 1000, most: 1000, want: errBoom,
			fail: func(i int) error { return map[int]error{3: errBoom, 4: errOther, 9: errOther}[i] },
		},
		"Each": {
			reason: "At most one other number is begun once one has failed.", count: 1000, most: writers + 1, want: errBoom,
			fail: func(int) error { return errBoom },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			done := map[int]int{}
			got := inTurn(tc.count, func(i int) error {
				mu.Lock()
				defer mu.Unlock()
				done[i]++
				if tc.fail == nil {
					return nil
				}
				return tc.fail(i)
			})
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\ninTurn: -want, +got:\n%s", tc.reason, diff)
			}
			if len(done) > tc.most || got == nil && len(done) < tc.count {
				t.Errorf("%s\nwant %d done, or fewer after an error, got %d of %d", tc.reason, tc.most, len(done),
					tc.count)
			}
			for i, n := range done {
				if n != 1 {
					t.Errorf("%d was done %d times", i, n)
				}
			}
		})
	}
}

// TestIsShownBy shows when a pass has seen what it has written.
func TestIsShownBy(t *testing.T) {
	r := resourceID{NamespacedName: types.NamespacedName{Name: "a"}}
	made := member{name: "m", uid: "1", resource: r, bare: true, observes: true, owned: true}
	foreign, deleted, successor := made, made, made
	foreign.owned, deleted.terminating, successor.uid = false, true, "2"
	apply, prune := plan{apply: []application{{name: "m", resource: r}}}, plan{prune: []member{made}}
	for name, tc := range map[string]struct {
		reason string
		plan   plan
		cached []member
		want   bool
	}{
		"Nothing":      {reason: "Nothing is shown at once.", want: true},
		"NotYetThere":  {reason: "The cache lacks a member that was just made.", plan: apply},
		"Older":        {reason: "The cache has a member as it was before.", plan: apply, cached: []member{foreign}},
		"Seen":         {reason: "The cache shows our own write.", plan: apply, cached: []member{made}, want: true},
		"NotYetGoing":  {reason: "The cache does not show a deletion yet.", plan: prune, cached: []member{made}},
		"Going":        {reason: "The cache shows a deletion.", plan: prune, cached: []member{deleted}, want: true},
		"Gone":         {reason: "A member that was deleted is gone.", plan: prune, want: true},
		"HasSuccessor": {reason: "Its successor is another.", plan: prune, cached: []member{successor}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			held := map[string]member{}
			for _, m := range tc.cached {
				held[m.name] = m
			}
			if got := tc.plan.isShownBy(held, template{renew: true}); got != tc.want {
				t.Errorf("%s\nisShownBy: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
