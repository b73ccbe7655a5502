package target

import (
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// soonRetries is how many times in a row an owner may fail before its retries are put off.
	soonRetries = 6
	// soonRate is how many retries a target gets in a second at most, and soonBurst how many at once.
	soonRate  = 50
	soonBurst = 200
	// putOffLeast is the pause of a retry that is put off. On average it is putOffAlike for each owner that fails alike,
	// up to putOffMost, and putOffAll for each that fails at all, if that is more. Pauses differ widely, so that one of
	// many comes soon.
	putOffLeast = 4 * time.Second
	putOffAlike = time.Second
	putOffMost  = 2 * time.Minute
	putOffAll   = time.Second / 4
	// putOffJitter is by how much the pauses of few differ.
	putOffJitter = time.Second
	// wokenAtOnce is how many owners are woken when one that failed alike has succeeded. Each of them that succeeds
	// wakes as many.
	wokenAtOnce = 2
)

// failures are the owners that fail on a target. The more of them fail alike, the more seldom each is tried again. When
// one succeeds it wakes others, and so on. Its methods may be called concurrently.
type failures struct {
	wake func(informer.Owner)
	soon *rate.Limiter

	mu     sync.Mutex
	causes map[informer.Owner]string
	alike  map[string]map[informer.Owner]int // how often each has failed in a row, by cause
}

func newFailures(wake func(informer.Owner)) *failures {
	return &failures{
		wake: wake, soon: rate.NewLimiter(soonRate, soonBurst),
		causes: map[informer.Owner]string{}, alike: map[string]map[informer.Owner]int{},
	}
}

// retryAfter records that an owner has failed, and returns for how long to put off its retry. If there is no cause that
// others may have, too, it is put off only to spread the retries of many.
func (f *failures) retryAfter(o informer.Owner, cause string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	delay := f.soon.Reserve().Delay()
	if known, fails := f.causes[o]; fails && known != cause {
		f.drop(o)
	}
	if cause == "" {
		return delay
	}
	if f.alike[cause] == nil {
		f.alike[cause] = map[informer.Owner]int{}
	}
	all := f.alike[cause]
	f.causes[o] = cause
	all[o]++
	if all[o] <= soonRetries {
		return delay
	}
	mean := max(min(putOffMost, putOffAlike*time.Duration(len(all))), putOffAll*time.Duration(len(f.causes)))
	//nolint:gosec // Jitter needs no secrecy.
	return max(delay, putOffLeast+rand.N(max(putOffJitter, 2*(mean-putOffLeast))))
}

// succeeded records that an owner does not fail any more, and wakes others that failed alike.
func (f *failures) succeeded(o informer.Owner) {
	f.mu.Lock()
	var woken []informer.Owner
	alike := f.alike[f.causes[o]]
	f.drop(o)
	for other := range alike {
		if len(woken) == wokenAtOnce {
			break
		}
		woken = append(woken, other)
	}
	f.mu.Unlock()
	for _, other := range woken {
		f.wake(other)
	}
}

// forget drops an owner.
func (f *failures) forget(o informer.Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(o)
}

// drop drops an owner. The caller holds the lock.
func (f *failures) drop(o informer.Owner) {
	cause := f.causes[o]
	delete(f.causes, o)
	delete(f.alike[cause], o)
	if len(f.alike[cause]) == 0 {
		delete(f.alike, cause)
	}
}
