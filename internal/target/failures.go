package target

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// soonRetries is how many times in a row an owner may fail before its retries are put off.
	soonRetries = 6
	// soonRate is how many such early retries a target gets in a second, and soonBurst how many at once.
	soonRate  = 50
	soonBurst = 200
	// putOffFirst is the first pause of a retry that is put off. It doubles with each failure, up to putOffMost, and up
	// to a quarter is added to spread the retries.
	putOffFirst = 4 * time.Second
	putOffMost  = 2 * time.Minute
	// putOffRate is how many retries that are put off a target gets in a second, however many owners it refuses.
	putOffRate = 2
	// probeRate is how many owners that stand for others are tried again in a second.
	probeRate = 1
	// wokenAtOnce is how many owners are woken when one that failed alike has succeeded.
	wokenAtOnce = 2
)

// failures are the owners that fail on a target. Of those that fail alike one stands for all: it is tried again every
// few seconds, and the others ever more seldom. When one of them succeeds two others are woken, and so on. Its methods
// may be called concurrently.
type failures struct {
	wake   func(informer.Owner)
	soon   *rate.Limiter
	probes *rate.Limiter

	mu     sync.Mutex
	owners map[informer.Owner]*failing
	groups map[string]*failureGroup // by cause
}

// failing is what is known of an owner that fails.
type failing struct {
	cause string
	times int // in a row
}

// A failureGroup is the owners that fail for one cause.
type failureGroup struct {
	members int
	probe   informer.Owner   // who stands for all
	waiting []informer.Owner // the others
}

func newFailures(wake func(informer.Owner)) *failures {
	return &failures{
		wake: wake, soon: rate.NewLimiter(soonRate, soonBurst), probes: rate.NewLimiter(probeRate, 1),
		owners: map[informer.Owner]*failing{}, groups: map[string]*failureGroup{},
	}
}

// retryAfter records that an owner has failed, and returns for how long to put off its retry. If there is no cause that
// others may have, too, it is put off only to spread the retries of many.
func (f *failures) retryAfter(o informer.Owner, cause string) time.Duration {
	if cause == "" {
		f.forget(o)
		return f.soon.Reserve().Delay()
	}
	f.mu.Lock()
	var woken []informer.Owner
	if known := f.owners[o]; known != nil && known.cause != cause {
		woken = f.leave(o)
	}
	g := f.join(o, cause)
	times := f.owners[o].times - soonRetries
	delay := f.soon.Reserve().Delay()
	switch {
	case times <= 0:
	case g.probe == o:
		delay = max(putOffFirst, f.probes.Reserve().Delay())
	default:
		g.waiting = append(slices.DeleteFunc(g.waiting, func(other informer.Owner) bool { return other == o }), o)
		delay = max(delay, spread(max(backoff(times), time.Duration(len(f.owners))*time.Second/putOffRate)))
	}
	f.mu.Unlock()
	f.wakeAll(woken)
	return delay
}

// join counts a failure of an owner, and returns those that fail alike. The caller holds the lock.
func (f *failures) join(o informer.Owner, cause string) *failureGroup {
	g := f.groups[cause]
	if g == nil {
		g = &failureGroup{}
		f.groups[cause] = g
	}
	if f.owners[o] == nil {
		f.owners[o] = &failing{cause: cause}
		g.members++
	}
	f.owners[o].times++
	if g.probe == (informer.Owner{}) {
		g.probe = o
	}
	return g
}

// backoff returns the pause of the n-th retry that is put off, from 1.
func backoff(n int) time.Duration {
	pause := putOffFirst
	for ; n > 1 && pause < putOffMost; n-- {
		pause *= 2
	}
	return min(pause, putOffMost)
}

// spread adds up to a quarter to a pause.
func spread(pause time.Duration) time.Duration {
	return pause + rand.N(pause/4) //nolint:gosec // Jitter needs no secrecy.
}

// succeeded records that an owner does not fail any more, and wakes others that failed alike.
func (f *failures) succeeded(o informer.Owner) {
	f.mu.Lock()
	var woken []informer.Owner
	if known := f.owners[o]; known != nil {
		g := f.groups[known.cause]
		g.waiting = slices.DeleteFunc(g.waiting, func(other informer.Owner) bool { return other == o })
		n := min(wokenAtOnce, len(g.waiting))
		woken, g.waiting = slices.Clone(g.waiting[:n]), g.waiting[n:]
		if n > 0 && g.probe == o {
			g.probe = woken[0]
		}
		f.leave(o) // Somebody else stands for all by now.
	}
	f.mu.Unlock()
	f.wakeAll(woken)
}

// forget drops an owner. It does not wait for the one that is woken in its place: the caller may hold what that takes.
func (f *failures) forget(o informer.Owner) {
	f.mu.Lock()
	woken := f.leave(o)
	f.mu.Unlock()
	if len(woken) > 0 {
		go f.wakeAll(woken)
	}
}

// leave takes an owner out of its group. If that has nobody else who stands for it, the owner is returned who does now.
// The caller holds the lock.
func (f *failures) leave(o informer.Owner) []informer.Owner {
	known := f.owners[o]
	if known == nil {
		return nil
	}
	delete(f.owners, o)
	g := f.groups[known.cause]
	g.waiting = slices.DeleteFunc(g.waiting, func(other informer.Owner) bool { return other == o })
	if g.members--; g.members == 0 {
		delete(f.groups, known.cause)
	}
	if g.probe == o {
		g.probe = informer.Owner{}
	}
	if g.probe != (informer.Owner{}) || len(g.waiting) == 0 {
		return nil
	}
	g.probe, g.waiting = g.waiting[0], g.waiting[1:]
	return []informer.Owner{g.probe}
}

func (f *failures) wakeAll(owners []informer.Owner) {
	for _, o := range owners {
		f.wake(o)
	}
}
