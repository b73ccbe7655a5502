package target

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// A controller reconciles owners with some workers. A reconcile is one request to the target of the owner's namespace.
type controller struct {
	url   string
	queue workqueue.TypedInterface[informer.Owner]
	slots *workerSlots

	mu      sync.Mutex
	targets map[string]*targetSlots
	done    map[informer.Owner]int // how many reconciles were answered
	refused map[informer.Owner]error
}

// newController starts a controller. Its targets answer at once, or after a time, or never, as modeOf their name says.
func newController(t *testing.T, workers int, modeOf func(target string) time.Duration) *controller {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		after := modeOf(r.URL.Path[1:])
		if after == 0 {
			return
		}
		select {
		case <-time.After(after):
		case <-r.Context().Done():
		case <-over:
		}
	}))
	c := &controller{
		url: server.URL, queue: workqueue.NewTyped[informer.Owner](), targets: map[string]*targetSlots{},
		done: map[informer.Owner]int{}, refused: map[informer.Owner]error{},
	}
	c.slots = newWorkerSlots(workers, c.queue.Add)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for o, shutdown := c.queue.Get(); !shutdown; o, shutdown = c.queue.Get() {
				c.reconcile(ctx, o)
				c.queue.Done(o)
			}
		})
	}
	t.Cleanup(func() {
		c.queue.ShutDown()
		cancel()
		close(over)
		running.Wait()
		server.Close()
	})
	return c
}

// target returns what a target has, which nobody knows at first.
func (c *controller) target(name string) *targetSlots {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.targets[name] == nil {
		c.targets[name] = c.slots.newTargetSlots()
	}
	return c.targets[name]
}

// reconcile reconciles an owner once.
func (c *controller) reconcile(ctx context.Context, o informer.Owner) {
	ctx, done := Reconciling(ctx, o)
	defer done()
	target := c.target(o.Namespace)
	err := target.enter(ctx)
	if err == nil {
		err = get(ctx, target, c.url+"/"+o.Namespace)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.refused[o] = err
		return
	}
	c.done[o]++
}

// get sends a request to a target, and reads the answer.
func get(ctx context.Context, target *targetSlots, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := target.wrap(http.DefaultTransport).RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func owner(target string, n int) informer.Owner {
	return informer.Owner{NamespacedName: types.NamespacedName{Namespace: target, Name: strconv.Itoa(n)}}
}

// add adds owners of a target to the queue.
func (c *controller) add(target string, owners int) {
	for n := range owners {
		c.queue.Add(owner(target, n))
	}
}

// answered returns how many reconciles of an owner were answered.
func (c *controller) answered(o informer.Owner) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[o]
}

// failure returns what the last reconcile of an owner failed with.
func (c *controller) failure(o informer.Owner) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[o]
}

// awaitAnswers waits until each owner of a target has been answered some times.
func (c *controller) awaitAnswers(t *testing.T, target string, owners, times int) {
	t.Helper()
	eventually(t, "reconciles of "+target, func() bool {
		for n := range owners {
			if c.answered(owner(target, n)) < times {
				return false
			}
		}
		return true
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

// never is longer than any test.
const never = time.Hour

// TestSlotsOfSickTargets shows that targets which answer nothing, or late, do not keep the workers from others,
// whatever their number and whether they were well before, and that an owner of a target that nobody knows yet gets a
// worker, too.
func TestSlotsOfSickTargets(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		workers int
		targets int
		owners  int // of each target
		before  time.Duration
		after   time.Duration
	}{
		"One": {
			reason:  "One has more owners than there are workers.",
			workers: 20,
			targets: 1,
			owners:  100,
			before:  never,
			after:   never,
		},
		"Some": {
			reason:  "Some have, together.",
			workers: 20,
			targets: 6,
			owners:  30,
			before:  never,
			after:   never,
		},
		"Many": {
			reason:  "There are more targets than workers.",
			workers: 20,
			targets: 50,
			owners:  5,
			before:  never,
			after:   never,
		},
		"FallSilent": {
			reason:  "They were well, and fall silent at once.",
			workers: 20,
			targets: 6,
			owners:  30,
			after:   never,
		},
		"FewWorkers": {
			reason:  "There are few workers.",
			workers: 4,
			targets: 6,
			owners:  30,
			before:  never,
			after:   never,
		},
		"Slow": {
			reason: "They answer, but late.", workers: 20, targets: 6, owners: 30,
			before: 400 * time.Millisecond, after: 400 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sick atomic.Bool
			c := newController(t, tc.workers, func(target string) time.Duration {
				switch {
				case target[:4] == "well":
					return 0
				case sick.Load():
					return tc.after
				}
				return tc.before
			})
			c.add("well", 1)
			c.awaitAnswers(t, "well", 1, 1)
			names := make([]string, tc.targets)
			for i := range names {
				names[i] = fmt.Sprintf("sick-%d", i)
				c.add(names[i], tc.owners)
			}
			if tc.before == 0 {
				for _, name := range names {
					c.awaitAnswers(t, name, tc.owners, 1)
				}
			}
			sick.Store(true)
			for _, name := range names {
				c.add(name, tc.owners)
			}
			for i := range 10 {
				c.add("well", 1)
				c.awaitAnswers(t, "well", 1, i+2)
			}
			c.add("well-too", 3)
			c.awaitAnswers(t, "well-too", 3, 1)
		})
	}
}

// TestSlotsAreServed shows that all owners of a target that answers are reconciled, however slowly it answers, and that
// each is reconciled once: what has begun is not begun anew.
func TestSlotsAreServed(t *testing.T) {
	for name, after := range map[string]time.Duration{"Promptly": 0, "Slowly": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			c := newController(t, 20, func(string) time.Duration {
				requests.Add(1)
				return after
			})
			c.add("target", 60)
			c.awaitAnswers(t, "target", 60, 1)
			if got := requests.Load(); got != 60 {
				t.Errorf("60 owners: want 60 requests, got %d", got)
			}
		})
	}
}

// TestSlotsRecover shows that all owners are reconciled soon after their targets answer again.
func TestSlotsRecover(t *testing.T) {
	const targets, owners = 30, 10
	var well atomic.Bool
	c := newController(t, 20, func(string) time.Duration {
		for end := time.Now().Add(lateAfter); !well.Load() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if well.Load() {
			return 0
		}
		return never
	})
	for i := range targets {
		c.add(strconv.Itoa(i), owners)
	}
	eventually(t, "targets to be silent", func() bool {
		return c.failure(owner("0", owners-1)) != nil && c.failure(owner(strconv.Itoa(targets-1), owners-1)) != nil
	})
	well.Store(true)
	for i := range targets {
		c.awaitAnswers(t, strconv.Itoa(i), owners, 1)
	}
}

// TestSlotsOfSilentTarget shows what owners are told that have no slot: nothing at first, and that the target is
// unreachable when it has answered nothing for long.
func TestSlotsOfSilentTarget(t *testing.T) {
	c := newController(t, 20, func(string) time.Duration { return never })
	c.add("target", 3)
	eventually(t, "an owner to be refused", func() bool { return c.failure(owner("target", 2)) != nil })
	if err := c.failure(owner("target", 2)); !IsQueued(err) || !apierrors.IsConflict(err) || IsUnreachable(err) {
		t.Errorf("want a conflict at first, got %v", err)
	}
	eventually(t, "an owner to be told that its target is unreachable", func() bool {
		c.add("target", 3)
		err := c.failure(owner("target", 2))
		return IsQueued(err) && IsUnreachable(err) && !apierrors.IsConflict(err)
	})
}

// TestSlotsAreForgotten shows that nothing is kept of targets that have no reconcile.
func TestSlotsAreForgotten(t *testing.T) {
	c := newController(t, 4, func(string) time.Duration { return 0 })
	for i := range 50 {
		c.add(strconv.Itoa(i), 5)
	}
	for i := range 50 {
		c.awaitAnswers(t, strconv.Itoa(i), 5, 1)
	}
	eventually(t, "targets to be forgotten", func() bool {
		c.slots.mu.Lock()
		defer c.slots.mu.Unlock()
		return len(c.slots.targets) == 0 && len(c.slots.queue) == 0 && !c.slots.ticking
	})
}
