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
			reason: "No worker begins another number once one has failed.", count: 1000, most: writers, want: errBoom,
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
	begin := time.Now()
	key := types.NamespacedName{Name: "c"}
	made := member{name: "m", uid: "1", version: "5", resource: id("x")}
	for name, tc := range map[string]struct {
		reason  string
		note    member
		cached  []member
		later   time.Duration
		want    map[string]member
		lagging bool
	}{
		"NotYetThere": {
			reason: "A member that was just made counts although the cache lacks it.",
			note:   made, want: map[string]member{"m": made}, lagging: true,
		},
		"Older": {
			reason: "A member that was just changed counts as changed.",
			note:   made, cached: []member{{name: "m", uid: "1", version: "4"}}, want: map[string]member{"m": made},
			lagging: true,
		},
		"Seen": {
			reason: "What the cache shows of our own write or of later ones counts.",
			note:   made, cached: []member{{name: "m", uid: "1", version: "6"}},
			want: map[string]member{"m": {name: "m", uid: "1", version: "6"}},
		},
		"Undone": {
			reason: "A member that the cache never shows is gone.",
			note:   made, later: lag + time.Second, want: map[string]member{},
		},
		"Deleted": {
			reason: "A member that was just deleted counts as being deleted.",
			note:   member{name: "m", uid: "1", version: "5", terminating: true}, cached: []member{made},
			want: map[string]member{"m": {name: "m", uid: "1", version: "5", terminating: true}}, lagging: true,
		},
		"DeletedAndGone": {
			reason: "A member that was deleted and is gone is gone.",
			note:   member{name: "m", uid: "1", version: "5", terminating: true}, want: map[string]member{},
		},
		"DeletedAndReplaced": {
			reason: "The successor of a member that was deleted counts.",
			note:   member{name: "m", uid: "1", version: "5", terminating: true},
			cached: []member{{name: "m", uid: "2", version: "9"}},
			want:   map[string]member{"m": {name: "m", uid: "2", version: "9"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := begin
			w := newWritten()
			w.now = func() time.Time { return now }
			w.note(key, tc.note)
			now = now.Add(tc.later)
			for range 2 { // What was dropped stays dropped, and what counts goes on to count.
				held := map[string]member{}
				for _, m := range tc.cached {
					held[m.name] = m
				}
				lagging := w.correct(key, held)
				if diff := cmp.Diff(tc.want, held, cmp.AllowUnexported(member{})); diff != "" {
					t.Errorf("%s\ncorrect: -want, +got:\n%s", tc.reason, diff)
				}
				if lagging != tc.lagging {
					t.Errorf("%s\ncorrect: want lagging %t, got %t", tc.reason, tc.lagging, lagging)
				}
			}
			w.forget(key)
			if len(w.writes) > 0 || w.correct(key, map[string]member{}) {
				t.Error("what is forgotten counts no more")
			}
		})
	}
}
