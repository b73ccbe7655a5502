package target

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// A crowd sends requests of reconciles, and records who is woken.
type crowd struct {
	url string

	mu    sync.Mutex
	woken map[string]bool
}

func (c *crowd) wake(o watch.Owner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.woken[o.Name] = true
}

func (c *crowd) isWoken(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.woken[name]
}

// newCrowd returns a crowd, and a server whose path /hangs is never answered before the test ends.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hangs" {
			return
		}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(over) })
	return &crowd{url: s.URL, woken: map[string]bool{}}
}

// ask sends a request of a reconcile that is charged to an account.
func (c *crowd) ask(ctx context.Context, a *account, name, path string) error {
	ctx = WithOwner(ctx, watch.Owner{NamespacedName: types.NamespacedName{Name: name}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return err
	}
	res, err := a.wrap(http.DefaultTransport).RoundTrip(req)
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

// hang sends requests that are not answered to each of some targets, in turn, and returns the targets.
func (c *crowd) hang(ctx context.Context, b *budget, targets, each int) []*account {
	sick := make([]*account, targets)
	for i := range sick {
		sick[i] = &account{budget: b}
	}
	for i := range each {
		for n, a := range sick {
			go func() { _ = c.ask(ctx, a, fmt.Sprintf("sick-%d-%d", n, i), "/hangs") }()
		}
	}
	return sick
}

func (b *budget) counted(of ...*account) (all int, each []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range of {
		each = append(each, a.held)
	}
	return len(b.waits), each
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

// TestBudgetKeepsWorkers shows that targets which do not answer never hold all workers, however many they are, and that one that answers is
// served at once beside them.
func TestBudgetKeepsWorkers(t *testing.T) {
	for _, tc := range []struct{ targets, each int }{{1, 300}, {6, 30}, {50, 20}, {150, 5}} {
		t.Run(fmt.Sprintf("%dx%d", tc.targets, tc.each), func(t *testing.T) {
			c := newCrowd(t)
			b := newBudget(100, c.wake)
			sick := c.hang(t.Context(), b, tc.targets, tc.each)
			eventually(t, "targets to be slow", func() bool {
				b.mu.Lock()
				defer b.mu.Unlock()
				old := 0
				for _, a := range sick {
					old += a.old
				}
				return len(b.waits) > 0 && old == len(b.waits)
			})
			well := &account{budget: b}
			for i := range 40 {
				if err := c.ask(t.Context(), well, fmt.Sprintf("well-%d", i), "/"); err != nil {
					t.Errorf("a request to a target that answers: %v", err)
				}
			}
			_, each := b.counted(sick...)
			// One that holds fewer than others may have another.
			most := sick[slices.Index(each, slices.Max(each))]
			eventually(t, "another request to the target that holds most workers to be refused", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := c.ask(ctx, most, "another", "/hangs")
				return IsBusy(err) && IsUnreachable(err)
			})
		})
	}
}

// TestBudgetWakes shows that who was refused is woken, the first first, when there is a place, and that a target that answers again gets all.
func TestBudgetWakes(t *testing.T) {
	c := newCrowd(t)
	b := newBudget(4, c.wake)
	ctx, cancel := context.WithCancel(t.Context())
	a := c.hang(ctx, b, 1, 3)[0]
	eventually(t, "the target to be slow", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return a.old == 3
	})
	for _, name := range []string{"first", "second", "third"} {
		eventually(t, name+" to be refused", func() bool { return IsBusy(c.ask(t.Context(), a, name, "/")) })
	}
	cancel()
	eventually(t, "those that fit to be woken", func() bool { return c.isWoken("first") && c.isWoken("second") })
	if err := c.ask(t.Context(), a, "first", "/"); err != nil {
		t.Errorf("there is a place: %v", err)
	}
	eventually(t, "all to be woken", func() bool { return c.isWoken("third") })
}

// TestBudgetIsSilent shows that a target which has only just stopped answering is no failure for anybody to see, and that its owners are woken.
func TestBudgetIsSilent(t *testing.T) {
	c := newCrowd(t)
	b := newBudget(1, c.wake)
	ctx, cancel := context.WithCancel(t.Context())
	a := c.hang(ctx, b, 1, 1)[0]
	eventually(t, "the target to be slow", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return a.old == 1
	})
	if err := c.ask(t.Context(), a, "other", "/"); !apierrors.IsConflict(err) || IsUnreachable(err) {
		t.Errorf("want a conflict, got %v", err)
	}
	cancel()
	eventually(t, "the other to be woken", func() bool { return c.isWoken("other") })
}

// TestBudgetSparesTheBusy shows that a target which answers is not limited, however long it takes: what is begun is not begun anew.
func TestBudgetSparesTheBusy(t *testing.T) {
	c := newCrowd(t)
	b := newBudget(1, c.wake)
	a := c.hang(t.Context(), b, 1, 5)[0]
	eventually(t, "the target to be slow", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return a.old == 5
	})
	a.answer()
	if err := c.ask(t.Context(), a, "other", "/"); err != nil {
		t.Errorf("a request to a target that has just answered another: %v", err)
	}
}

// TestBudgetIsPatient shows that few reconciles wait for what is about to arrive, for all targets together.
func TestBudgetIsPatient(t *testing.T) {
	b := newBudget(20, func(watch.Owner) {})
	one, other := &account{budget: b}, &account{budget: b}
	ctx, done := one.wait(t.Context())
	_, done2 := one.wait(t.Context())
	if ctx.Err() != nil {
		t.Errorf("a tenth of the workers may wait: %v", ctx.Err())
	}
	if late, _ := other.wait(t.Context()); late.Err() == nil {
		t.Error("no more may, whatever target they wait for")
	}
	done()
	done2()
	if ctx, done := other.wait(t.Context()); ctx.Err() != nil {
		t.Error("one that comes later may wait again")
	} else {
		done()
	}
}
