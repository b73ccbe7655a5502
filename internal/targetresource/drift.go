package targetresource

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// driftBurst is how many changes by others are reverted at once, and driftPause how far apart after that.
	driftBurst = 100
	driftPause = time.Minute
	// driftPeace is how long after its last revert a fight is over. Whoever still fights undoes the next one before.
	driftPeace = 2 * driftPause
)

// postponed counts the reverts that were put off.
var postponed = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "provider_kcp_postponed_reverts_total",
	Help: "How often the provider postponed reverting what others change again and again.",
})

func init() { metrics.Registry.MustRegister(postponed) } //nolint:gochecknoinits // As controller-runtime does its own.

// A Drift slows down the fight over a resource that somebody else keeps changing. Its zero value has seen no change.
// One worker at a time reconciles an owner, and nobody else asks for its fight.
type Drift struct {
	fights sync.Map // informer.Owner to *fight
}

// A fight is how often and when the changes of a resource were reverted last.
type fight struct {
	reverts int
	last    time.Time
}

// fight returns the fight of an owner, which begins anew after driftPeace.
func (d *Drift) fight(o informer.Owner) *fight {
	known, _ := d.fights.LoadOrStore(o, &fight{})
	f := known.(*fight) //nolint:forcetypeassert // Nothing else is in it.
	if time.Since(f.last) >= driftPeace {
		f.reverts = 0
	}
	return f
}

// Wait returns how long to wait before the next revert, 0 if it may be done now.
func (d *Drift) Wait(o informer.Owner) time.Duration {
	f := d.fight(o)
	if wait := time.Until(f.last.Add(driftPause)); f.reverts >= driftBurst && wait > 0 {
		postponed.Inc()
		return wait
	}
	f.reverts, f.last = f.reverts+1, time.Now()
	return 0
}

// Fights returns how long a fight goes on if nothing more is reverted, 0 if there is none.
func (d *Drift) Fights(o informer.Owner) time.Duration {
	if f := d.fight(o); f.reverts > driftBurst*2/3 {
		return time.Until(f.last.Add(driftPeace))
	}
	return 0
}

// Reverts returns how many changes have been reverted in the present fight.
func (d *Drift) Reverts(o informer.Owner) int { return d.fight(o).reverts }

// Forget forgets the changes of what an owner has.
func (d *Drift) Forget(o informer.Owner) { d.fights.Delete(o) }
