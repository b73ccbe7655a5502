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

// A Drift slows down the fight over a resource that somebody else keeps changing. Its zero value has seen no change.
type Drift struct {
	limiters sync.Map // informer.Owner to *rate.Limiter
}

func (d *Drift) limiter(o informer.Owner) *rate.Limiter {
	l, _ := d.limiters.LoadOrStore(o, rate.NewLimiter(rate.Every(driftPause), driftBurst))
	return l.(*rate.Limiter) //nolint:forcetypeassert // Nothing else is in it.
}

// Wait returns how long to wait before the next revert, 0 if it may be done now.
func (d *Drift) Wait(o informer.Owner) time.Duration {
	r := d.limiter(o).Reserve()
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
func (d *Drift) Reverts(o informer.Owner) int { return driftBurst - int(d.limiter(o).Tokens()) }

// Forget forgets the changes of what an owner has.
func (d *Drift) Forget(o informer.Owner) { d.limiters.Delete(o) }
