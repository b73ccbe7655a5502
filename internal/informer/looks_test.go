package informer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A looker is an owner that looks for a purpose.
type looker struct {
	Owner

	purpose Purpose
}

// TestLooks has owners look and be done at random, while resources change at random. A change wakes all who have looked
// at its resource since the last Done or before that, and nobody else. A stream runs as long as anybody has.
func TestLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 0))
		name := func() types.NamespacedName { return types.NamespacedName{Name: string(rune('a' + random.IntN(4)))} }
		woken, s := sync.Map{}, &script{}
		set := NewSet(scriptClient{script: s}, Options{Wake: func(o Owner) { woken.Store(o, true) }})
		looks := map[looker]map[WatchRequest]bool{} // true since the last Done
		streams := func() map[WatchRequest]int {
			all := map[WatchRequest]int{}
			for _, by := range looks {
				for i := range by {
					all[i.key()]++
				}
			}
			return all
		}
		starts := 0
		for step := range 10000 {
			o := Owner{NamespacedName: name()}
			l := looker{Owner: o, purpose: Purpose(name().Name)}
			switch random.IntN(8) {
			case 0:
				set.Done(o, l.purpose)
				maps.DeleteFunc(looks[l], func(_ WatchRequest, looked bool) bool { return !looked })
				for i := range looks[l] {
					looks[l][i] = false
				}
			case 1, 2, 3:
				n, want, got := name(), map[Owner]bool{}, map[Owner]bool{}
				for l, by := range looks {
					of := func(i WatchRequest) bool { return i.NamespacedName == n }
					if l.Owner != o && slices.ContainsFunc(slices.Collect(maps.Keys(by)), of) {
						want[l.Owner] = true
					}
				}
				woken.Clear()
				set.Put(o, schema.GroupVersionResource{}, at(n.Name, strconv.Itoa(step+2)))
				woken.Range(func(o, _ any) bool { got[o.(Owner)] = true; return true })
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("step %d: a change of %s wakes: -want, +got:\n%s", step, n, diff)
				}
			default:
				i := WatchRequest{NamespacedName: name(), Stream: Stream(random.IntN(3))}
				if streams()[i.key()] == 0 {
					starts++
				}
				if looks[l] == nil {
					looks[l] = map[WatchRequest]bool{}
				}
				looks[l][i] = true
				if _, err := set.Get(t.Context(), o, l.purpose, i); err != nil {
					t.Fatal(err)
				}
			}
			if random.IntN(50) == 0 {
				set.Forget(o)
				maps.DeleteFunc(looks, func(l looker, _ map[WatchRequest]bool) bool { return l.Owner == o })
			}
			if got, want := len(set.streams), len(streams()); got != want {
				t.Fatalf("step %d: want %d streams, got %d", step, want, got)
			}
		}
		if len(s.lists) != starts {
			t.Errorf("want a list for each of %d streams, got %d", starts, len(s.lists))
		}
		set.Close()
		synctest.Wait()
	})
}

// TestLooksWaitOnce shows that an owner does not wait for each of many first lists that are late.
func TestLooksWaitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, began := NewSet(scriptClient{script: &script{streams: true}}, Options{Wake: func(Owner) {}}), time.Now()
		for _, n := range []string{"a", "b", "c"} {
			i := WatchRequest{NamespacedName: types.NamespacedName{Name: n}, Stream: StreamByName}
			if _, err := set.Get(t.Context(), Owner{}, "test", i); !IsNotSynced(err) {
				t.Errorf("want no list, got %v", err)
			}
		}
		if waited := time.Since(began); waited != patience {
			t.Errorf("want to have waited for %s, got %s", patience, waited)
		}
		set.Close()
		synctest.Wait()
	})
}
