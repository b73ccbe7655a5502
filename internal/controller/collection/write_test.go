package collection

import (
	"sync"
	"testing"
	"time"

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

func TestWritten(t *testing.T) {
	key := types.NamespacedName{Name: "c"}
	made, deleted := write{uid: "1", version: "5"}, write{uid: "1"}
	for name, tc := range map[string]struct {
		reason string
		last   write
		cached []member
		later  time.Duration
		want   bool
	}{
		"NotYetThere": {reason: "The cache lacks a member that was just made.", last: made},
		"Older": {
			reason: "The cache has a member as it was before the write.",
			last:   made, cached: []member{{name: "m", uid: "1", version: "4"}},
		},
		"Seen": {
			reason: "The cache shows our own write, or later ones.",
			last:   made, cached: []member{{name: "m", uid: "1", version: "6"}}, want: true,
		},
		"Undone": {
			reason: "A member that the cache never shows is gone.",
			last:   made, later: lag + time.Second, want: true,
		},
		"Deleted": {
			reason: "The cache does not show yet that a member is being deleted.",
			last:   deleted, cached: []member{{name: "m", uid: "1", version: "5"}},
		},
		"Terminating": {
			reason: "The cache shows that a member is being deleted.",
			last:   deleted, cached: []member{{name: "m", uid: "1", version: "6", terminating: true}}, want: true,
		},
		"DeletedAndGone": {reason: "A member that was deleted and is gone is gone.", last: deleted, want: true},
		"DeletedAndReplaced": {
			reason: "The successor of a member that was deleted counts.",
			last:   deleted, cached: []member{{name: "m", uid: "2", version: "9"}}, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			w := newWritten()
			w.now = func() time.Time { return now }
			w.note(key, "m", tc.last)
			now = now.Add(tc.later)
			held := map[string]member{}
			for _, m := range tc.cached {
				held[m.name] = m
			}
			for range 2 { // What is shown stays so, and what is not goes on to be waited for.
				if got := w.isShown(key, held); got != tc.want {
					t.Errorf("%s\nisShown: want %t, got %t", tc.reason, tc.want, got)
				}
			}
			w.forget(key)
			if len(w.writes) > 0 || !w.isShown(key, map[string]member{}) {
				t.Error("what is forgotten is waited for no more")
			}
		})
	}
}
