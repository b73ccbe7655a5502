package diffwrite

import (
	"math/rand/v2"
	"time"
)

// waitMost is how soon something is looked at again that waits for what will wake it, if the poll interval is longer.
const waitMost = 30 * time.Second

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
