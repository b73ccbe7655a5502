package targetresource

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// driftBurst is how many changes by others are reverted at once, and driftRate how many a second after that.
	driftBurst = 100
	driftRate  = 1
)

// A Drift slows down the fight over a resource that somebody else keeps changing.
type Drift struct {
	mu       sync.Mutex
	limiters map[informer.Owner]*rate.Limiter
}

// NewDrift returns a Drift that has seen no change.
func NewDrift() *Drift { return &Drift{limiters: map[informer.Owner]*rate.Limiter{}} }

// Wait returns how long to wait before the next revert, 0 if it may be done now.
func (d *Drift) Wait(o informer.Owner) time.Duration {
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

// Forget forgets the changes of what an owner has.
func (d *Drift) Forget(o informer.Owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.limiters, o)
}
