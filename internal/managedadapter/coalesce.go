package managedadapter

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
)

const (
	// coalesceMin is how long a change of an object that is otherwise calm waits to be written. It is also how long an
	// object must not change to count as calm, so that its last state is written that long after the change.
	coalesceMin = 2 * time.Second
	// coalesceMax is how long the changes of an object that does not become calm wait at most, after coalesceMin has
	// doubled often enough.
	coalesceMax = 30 * time.Second
	// coalescePatience is how long a write waits at most for its budget.
	coalescePatience = time.Minute

	// budgetBurst and budgetRate are how many writes a composite can take at once, and how many a second after that.
	// Crossplane 2.4 stops watching what a composite is made of after 50 writes at once, and after one each two
	// seconds: --circuit-breaker-burst=100 and --circuit-breaker-refill-rate=1, which count each write twice. The rest
	// is for what we do not write: what Crossplane does itself.
	budgetBurst = 40
	budgetRate  = 0.25

	// reserve is what writes that can wait leave for those that cannot, and reservePassing is what they leave as long
	// as an object is not ready: it will be, and then what has changed meanwhile is written along with that.
	reserve        = 10
	reservePassing = 30
)

// A Change is a status that differs from the one the control plane has.
type Change struct {
	// Name of the object.
	Name types.NamespacedName
	// Budget names what pays for the write: the composite that the object is a part of, or the object itself.
	Budget types.UID
	// Content tells one state of what changes from another.
	Content uint64
	// Urgent is a change that does not wait.
	Urgent bool
	// Passing is a state that is expected to be followed by a change that is urgent: the object is not ready yet.
	Passing bool
}

// A Coalescer decides when a change of a status is written, for the objects of one kind. It knows nothing after a
// restart: then a change waits as if it were the first one.
type Coalescer struct {
	clock clock.Clock

	mu      sync.Mutex
	objects map[types.NamespacedName]*changes
	// budgets are *rate.Limiter by UID, each until it is full. Writes that cannot wait overdraw them.
	budgets *cache.Expiring
}

// The changes of one object.
type changes struct {
	wrote   time.Time     // when the status was last written
	since   time.Time     // since when a change waits, zero if none does
	changed time.Time     // when the waiting change was last overtaken by another
	content uint64        // of the waiting change
	delay   time.Duration // for how long changes wait if there is no end of them
}

// NewCoalescer returns a Coalescer that has seen no change.
func NewCoalescer() *Coalescer { return newCoalescer(clock.RealClock{}) }

func newCoalescer(c clock.Clock) *Coalescer {
	return &Coalescer{clock: c, objects: map[types.NamespacedName]*changes{}, budgets: cache.NewExpiringWithClock(c)}
}

// Wait returns how long the write of a change waits. If it is to be made now, the answer is 0, and counts as written.
func (c *Coalescer) Wait(ch Change) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, s := c.clock.Now(), c.objects[ch.Name]
	if s == nil {
		s = &changes{delay: coalesceMin}
		c.objects[ch.Name] = s
	}
	known, _ := c.budgets.Get(ch.Budget)
	b, ok := known.(*rate.Limiter)
	if !ok {
		b = rate.NewLimiter(budgetRate, budgetBurst)
	}
	wait := time.Duration(0)
	if !ch.Urgent {
		keep := reserve
		if ch.Passing {
			keep = reservePassing
		}
		wait = s.wait(now, ch.Content)
		wait = max(wait, min(shortfall(b, now, keep), s.since.Add(coalescePatience).Sub(now)))
	}
	if wait == 0 {
		s.write(now, ch.Urgent)
		b.ReserveN(now, 1)
		c.budgets.Set(ch.Budget, b, shortfall(b, now, budgetBurst))
	}
	return wait
}

// Forget ends what is known of an object.
func (c *Coalescer) Forget(n types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, n)
}

// wait returns how long a change waits: until there has been none for a while, or there have been some for long.
func (s *changes) wait(now time.Time, content uint64) time.Duration {
	begins := s.since.IsZero()
	if begins && now.Sub(s.wrote) > coalesceMax {
		s.delay = coalesceMin
	}
	if begins {
		s.since = now
	}
	if begins || s.content != content {
		s.changed, s.content = now, content
	}
	due := s.changed.Add(coalesceMin)
	if most := s.since.Add(s.delay); most.Before(due) {
		due = most
	}
	return max(0, due.Sub(now))
}

// write records that the status is written. The next change waits for longer if this one has waited.
func (s *changes) write(now time.Time, urgent bool) {
	s.wrote, s.since = now, time.Time{}
	if !urgent {
		s.delay = min(2*s.delay, coalesceMax)
	}
}

// shortfall returns how long it takes until a budget has so many tokens.
func shortfall(b *rate.Limiter, now time.Time, tokens int) time.Duration {
	return time.Duration((float64(tokens) - b.TokensAt(now)) / budgetRate * float64(time.Second))
}
