package object

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

const (
	// driftBurst is how many changes by others are reverted at once, and driftRate how many a second after that.
	driftBurst = 100
	driftRate  = 1
)

// A driftLimiter slows down the fight over a resource that somebody else keeps changing.
type driftLimiter struct {
	mu       sync.Mutex
	limiters map[watch.Owner]*rate.Limiter
}

func newDriftLimiter() *driftLimiter { return &driftLimiter{limiters: map[watch.Owner]*rate.Limiter{}} }

// wait returns how long to wait before the next revert, 0 if it may be done now.
func (d *driftLimiter) wait(o watch.Owner) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.limiters[o]
	if !ok {
		l = rate.NewLimiter(driftRate, driftBurst)
		d.limiters[o] = l
	}
	r := l.Reserve()
	delay := r.Delay()
	if delay > 0 {
		r.Cancel()
	}
	return delay
}

func (d *driftLimiter) forget(o watch.Owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.limiters, o)
}
