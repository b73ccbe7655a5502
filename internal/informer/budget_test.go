package informer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPool shows that each Set has a share of its own, which grows with its owners, that what is beyond it comes from
// the pool that all share, and that a list counts while it arrives.
func TestPool(t *testing.T) {
	const mebi = 1 << 20
	owners := 0
	pool := NewPool(2 * mebi)
	one := newBudget(Options{MaxBytes: 8 * mebi, Pool: pool}, func() int { return owners })
	other := newBudget(Options{MaxBytes: 8 * mebi, Pool: pool}, func() int { return 0 })
	var got []string
	try := func(what string, has bool) { got = append(got, fmt.Sprintf("%s %t", what, has)) }
	list := &ListSize{budget: other}
	arrives := func(bytes int) bool { _, err := list.Add(bytes); return err == nil }

	try("its share", one.take(shareOfSet))
	try("all of the pool", one.take(2*mebi))
	try("more", one.take(1))
	try("the share of another", arrives(shareOfSet))
	try("more of another", arrives(1))
	owners = 32
	try("the share of 32 owners", one.take(0))
	try("what the first has left in the pool", arrives(2*mebi))
	try("more than is left", arrives(1))
	list.end()
	try("what the list has left", other.take(3*mebi))
	owners = 0
	try("less, without owners", one.take(-mebi))
	try("more, without owners", one.take(mebi))
	one.take(-2 * mebi)
	other.take(-3 * mebi)
	try("more than its most", one.take(8*mebi+1))
	want := []string{
		"its share true", "all of the pool true", "more false", "the share of another true", "more of another false",
		"the share of 32 owners true", "what the first has left in the pool true", "more than is left false", "what the list has left true",
		"less, without owners true", "more, without owners false", "more than its most false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if pool.left != 2*mebi || one.used != 0 || other.used != 0 {
		t.Errorf("after all is given back: want a full pool, got %d bytes left, %d and %d in use", pool.left, one.used,
			other.used)
	}
}
