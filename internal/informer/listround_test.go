package informer

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// pagesOf returns a watchSupervisor whose server answers each page with what the function returns.
func pagesOf(answer func(context.Context, metav1.ListOptions) error) *watchSupervisor {
	return &watchSupervisor{page: 7, ListerWatcherWithContext: &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return &metav1.PartialObjectMetadataList{}, answer(ctx, o)
		},
	}}
}

// TestPagesEnd shows that a list whose pages go on for too long is left, and rests as one that is too long.
func TestPagesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := pagesOf(func(ctx context.Context, _ metav1.ListOptions) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(30 * time.Second):
				return nil
			}
		})
		begun := time.Now()
		_, err := g.ListWithContext(t.Context(), metav1.ListOptions{})
		for err == nil && time.Since(begun) < 2*pagesMost {
			_, err = g.ListWithContext(t.Context(), metav1.ListOptions{Continue: "more"})
		}
		if took := time.Since(begun); err == nil || took > pagesMost {
			t.Errorf("want an error after %s, got %v after %s", pagesMost, err, took)
		}
		if pause, why := g.rest(time.Now()); pause != floodRestFirst || why == nil ||
			!strings.Contains(why.Error(), "10m0s") {
			t.Errorf("want a rest of %s that names the limit, got %s: %v", floodRestFirst, pause, why)
		}
	})
}

// TestLongPagesRest shows that a list in pages rests once it was too long, and not if it failed otherwise.
func TestLongPagesRest(t *testing.T) {
	long, lost := errors.New("too long"), errors.New("connection lost")
	for name, tc := range map[string]struct {
		answer func(context.Context, metav1.ListOptions) error
		pause  time.Duration
	}{
		"TooLong": {
			answer: func(ctx context.Context, _ metav1.ListOptions) error {
				ListSizeIn(ctx).Fail(long)
				return long
			},
			pause: floodRestFirst,
		},
		"Lost": {
			answer: func(context.Context, metav1.ListOptions) error { return lost },
			pause:  0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := pagesOf(tc.answer)
			if _, err := g.ListWithContext(t.Context(), metav1.ListOptions{}); err == nil {
				t.Error("want an error")
			}
			if pause, err := g.rest(time.Now()); pause != tc.pause || pause > 0 && !errors.Is(err, long) {
				t.Errorf("want a rest of %s, got %s: %v", tc.pause, pause, err)
			}
		})
	}
}

// TestListThatFitsEndsFlood shows that a stream whose list came in pages with room for it does not rest because its
// list as a stream had none.
func TestListThatFitsEndsFlood(t *testing.T) {
	for name, tc := range map[string]struct {
		room  int64
		pause time.Duration
	}{
		"Fits":     {room: 1 << 20, pause: 0},
		"FitsNot":  {room: 1, pause: floodRestFirst},
		"NoBounds": {room: 0, pause: 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := pagesOf(func(context.Context, metav1.ListOptions) error { return nil })
			g.flood(errors.New("too long"))
			s := supervisedStore{newNames(func() {}, func() {}, func() {}), g, newBudget(tc.room).newQuota(), nil}
			_ = s.Replace([]any{&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}, "1")
			if pause, err := g.rest(time.Now()); pause != tc.pause {
				t.Errorf("want a rest of %s, got %s: %v", tc.pause, pause, err)
			}
		})
	}
}

// TestListsOfTwoRounds shows that what is left of a list whose round is over, as a reflector lists beside its own end,
// has no part in the list that follows.
func TestListsOfTwoRounds(t *testing.T) {
	g := pagesOf(func(ctx context.Context, o metav1.ListOptions) error {
		if sum := ListSizeIn(ctx).Add(1); sum > 2 {
			t.Errorf("page %q: the list has %d pages", o.Continue, sum)
		}
		return nil
	})
	first, end := context.WithCancel(t.Context())
	list := func(ctx context.Context, goesOn string) error {
		_, err := g.ListWithContext(ctx, metav1.ListOptions{Continue: goesOn})
		return err
	}
	if err := list(first, ""); err != nil {
		t.Fatal(err)
	}
	end()
	second, end := context.WithCancel(t.Context())
	defer end()
	if err := list(second, ""); err != nil {
		t.Fatal(err)
	}
	g.cut = true
	if err := list(first, "late"); err == nil {
		t.Error("want no page of a list whose round is over")
	}
	if !g.cut {
		t.Error("a page of a list whose round is over counts as the list of the next")
	}
	if err := list(second, "next"); err != nil {
		t.Errorf("the list goes on: %v", err)
	}
}
