package managedadapter

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	xperrors "github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
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

const (
	// waitMost is how soon something is reconciled again that waits for what will wake it, if the poll interval is
	// longer.
	waitMost = 30 * time.Second
	// lostAfter is when an object is reconciled again whose cache never shows our last write, after a restore.
	lostAfter = 10 * time.Minute
)

// A Reconciliation is one reconcile of one object. The functions say what a reconciler of crossplane-runtime cannot;
// each may be nil.
type Reconciliation struct {
	// Amend changes the status of the object before it is compared and written.
	Amend func(client.Object)
	// Shrink drops from the status of an object that is too large what it can do without, and reports whether there was
	// anything.
	Shrink func(client.Object) bool
	// Postpone reports whether a status that differs from the last one is to be written later. The caller reconciles
	// the object again.
	Postpone func(was, is client.Object) bool
	// Publish takes the place of crossplane-runtime's publisher of connection secrets, which asks for the secret each
	// time and never takes a key away. The reconciler has no option for that. The publisher applies by Get, and Create
	// if there is nothing: so Get finds no Secret, and Publish is given each that should be.
	Publish func(context.Context, *corev1.Secret) error

	// Suppressed has no status written.
	Suppressed bool
	// Unsaved is set if the status could not be written. crossplane-runtime is silent if the cause is a conflict.
	Unsaved bool
	// Gone is set if the object no longer exists.
	Gone bool
	// Stale is set if the cache was behind our last write, and nothing was done.
	Stale bool

	last   client.Object // the object as the server last gave it
	behind func() bool   // the cache has yet to show what we have written; nil if that is nothing
}

type reconciliationKey struct{}

// With returns a context that carries a Reconciliation.
func With(ctx context.Context, r *Reconciliation) context.Context {
	return context.WithValue(ctx, reconciliationKey{}, r)
}

// of returns the Reconciliation of a context. Without one nothing is compared.
func of(ctx context.Context) *Reconciliation {
	if r, ok := ctx.Value(reconciliationKey{}).(*Reconciliation); ok {
		return r
	}
	return &Reconciliation{}
}

// Last returns the object as the server last gave it, nil if it has not.
func (r *Reconciliation) Last() client.Object { return r.last }

// see remembers what the server has said about the object.
func (r *Reconciliation) see(obj client.Object) {
	r.last = obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // It is a copy of one.
}

// isCurrent reports whether an object is the reconciled one, in the version the server last gave.
func (r *Reconciliation) isCurrent(obj client.Object) bool {
	return r.last != nil && r.last.GetUID() == obj.GetUID() && r.last.GetResourceVersion() == obj.GetResourceVersion()
}

// Run has a reconciler reconcile the object, and requeues conflicts silently. As long as the cache has yet to show our
// last write, there is no other reconcile.
func (r *Reconciliation) Run(ctx context.Context, req reconcile.Request,
	next reconcile.Reconciler,
) (reconcile.Result, error) {
	res, err := next.Reconcile(With(ctx, r), req)
	if r.last == nil && isUnreadable(err) {
		return reconcile.Result{}, nil // The object tells, and its next version comes with an event.
	}
	if r.Stale {
		return reconcile.Result{RequeueAfter: staleMost}, nil
	}
	soon := res.Requeue //nolint:staticcheck // crossplane-runtime asks for another reconcile in no other way.
	if soon && err == nil && r.behind != nil && r.behind() {
		return reconcile.Result{RequeueAfter: lostAfter}, nil
	}
	return xperrors.SilentlyRequeueOnConflict(res, err)
}

// Reconciler makes a Reconciliation for each reconcile of another reconciler.
func Reconciler(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return (&Reconciliation{}).Run(ctx, req, next)
	})
}

// A Poll says when to look again at what is not expected to have changed.
type Poll struct {
	// Interval between two looks.
	Interval time.Duration
	// Jitter is the fraction of the interval by which it varies, so that what is made together is not polled together.
	Jitter float64
}

// Settled returns how long to wait if all is well.
func (p Poll) Settled() time.Duration { return p.jittered(p.Interval) }

// Waiting returns how long to wait if something is awaited that will wake.
func (p Poll) Waiting() time.Duration { return p.jittered(min(p.Interval, waitMost)) }

func (p Poll) jittered(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()*2-1)*p.Jitter*float64(d)) //nolint:gosec // Jitter needs no secrecy.
}
