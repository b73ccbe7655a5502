package informer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

const mebi = 1 << 20

// outcomes are what was tried, and whether there was room.
type outcomes []string

func (o *outcomes) try(what string, has bool) { *o = append(*o, fmt.Sprintf("%s %t", what, has)) }

// TestPool shows that each Set has a share of its own, which grows with its owners, that what is beyond it comes from
// the pool, of which none gets more than a quarter of what is left, and that a list counts while it arrives.
func TestPool(t *testing.T) {
	owners := 0
	pool := NewPool(8 * mebi)
	one := newBudget(Options{MaxBytes: 8 * mebi, Pool: pool}, func() int { return owners })
	other := newBudget(Options{MaxBytes: 8 * mebi, Pool: pool}, func() int { return 0 })
	list := &ListSize{budget: other, free: mebi}
	arrives := func(bytes int) bool { _, err := list.Add(bytes); return err == nil }
	got := outcomes{}

	got.try("its share", one.take(shareOfSet))
	got.try("a quarter of the pool", one.take(2*mebi))
	got.try("more", one.take(1))
	got.try("a list in place of what is held, and the share of another", arrives(mebi+shareOfSet))
	got.try("a quarter of what is left", arrives(mebi*3/2))
	got.try("more of another", arrives(1))
	owners = 32
	got.try("the share of 32 owners", one.hold(0))
	got.try("what the first has left in the pool", arrives(mebi/2))
	list.end()
	list.end()
	got.try("what the list has left", other.take(3*mebi))
	owners = 0
	got.try("all of it, without owners", one.hold(0))
	got.try("less, without owners", one.take(-mebi))
	got.try("the rest, without owners", one.hold(0))
	one.take(-2 * mebi)
	other.take(-3 * mebi)
	got.try("more than its most", one.take(8*mebi+1))
	want := outcomes{
		"its share true", "a quarter of the pool true", "more false",
		"a list in place of what is held, and the share of another true", "a quarter of what is left true", "more of another false",
		"the share of 32 owners true", "what the first has left in the pool true", "what the list has left true",
		"all of it, without owners false", "less, without owners true", "the rest, without owners true",
		"more than its most false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if pool.left != 8*mebi || one.used != 0 || other.used != 0 {
		t.Errorf("after all is given back: want a full pool, got %d bytes left, %d and %d in use", pool.left, one.used,
			other.used)
	}
}

// TestListFloods shows which lists that have no room make their stream rest, and which of these it forgets what it holds
// for: a list whose pages had room after all has replaced that.
func TestListFloods(t *testing.T) {
	for name, tc := range map[string]struct {
		reason           string
		pages            int // how many bytes they have
		rests, recovered bool
	}{
		"Room":   {reason: "A list that has room is no flood.", pages: mebi},
		"NoRoom": {reason: "Pages without room are a flood, as a stream is.", pages: 3 * mebi, rests: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBudget(Options{MaxBytes: 2 * mebi}, nil)
			g := &watchSupervisor{budget: b, ListerWatcherWithContext: &cache.ListWatch{}}
			size := ListSizeIn(g.withSize(t.Context(), false))
			if _, err := size.Add(tc.pages); err != nil {
				size.Fail(err)
			} else {
				g.replaced()
			}
			g.endList()
			pause, recovered, _ := g.rest(time.Now())
			if pause > 0 != tc.rests || recovered != tc.recovered || b.used != 0 {
				t.Errorf("%s\ngot a rest of %s, recovered %t, %d bytes in use", tc.reason, pause, recovered, b.used)
			}
			g.endList()
			if pause, _, err := g.rest(time.Now()); pause != 0 {
				t.Errorf("%s\na round without a list is no flood, got a rest of %s: %v", tc.reason, pause, err)
			}
		})
	}
	t.Run("Recovered", func(t *testing.T) {
		g := &watchSupervisor{}
		g.flood()
		g.replaced()
		if pause, recovered, _ := g.rest(time.Now()); pause == 0 || !recovered {
			t.Errorf("want a rest without forgetting the list that came in pages, got %s, %t", pause, recovered)
		}
	})
	t.Run("Endless", func(t *testing.T) {
		g := &watchSupervisor{budget: newBudget(Options{MaxBytes: mebi}, nil), ListerWatcherWithContext: &cache.ListWatch{}}
		g.withSize(t.Context(), false)
		g.size.begun = time.Now().Add(-pagesMost)
		if _, err := g.ListWithContext(t.Context(), metav1.ListOptions{Continue: "more"}); err == nil {
			t.Error("want a list to end whose pages do not")
		}
	})
}
