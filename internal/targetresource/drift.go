package targetresource

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// driftBurst is how many changes by others are reverted at once, and driftPause how far apart after that.
	driftBurst = 100
	driftPause = time.Minute
)

// postponed counts the reverts that were put off.
var postponed = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "provider_kcp_postponed_reverts_total",
	Help: "How often the provider postponed reverting what others change again and again.",
})

func init() { metrics.Registry.MustRegister(postponed) } //nolint:gochecknoinits // As controller-runtime does its own.

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
		l = rate.NewLimiter(rate.Every(driftPause), driftBurst)
		d.limiters[o] = l
	}
	r := l.Reserve()
	delay := r.Delay()
	if delay > 0 {
		r.Cancel()
		postponed.Inc()
	}
	return delay
}

// Fights reports whether so much has been reverted of late that it is a fight. It ends some minutes after the last one.
func (d *Drift) Fights(o informer.Owner) bool { return d.Reverts(o) > driftBurst*2/3 }

// Reverts returns how many changes have been reverted of late. Each minute takes one off.
func (d *Drift) Reverts(o informer.Owner) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.limiters[o]
	if !ok {
		return 0
	}
	return driftBurst - int(l.Tokens())
}

// Forget forgets the changes of what an owner has.
func (d *Drift) Forget(o informer.Owner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.limiters, o)
}
