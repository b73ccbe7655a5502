package target

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

// retries are those of the owners that fail on a target. The more of them fail alike, the more seldom each is tried
// again. When one succeeds it wakes others, and so on.
type retries struct {
	wake func(informer.Owner)
	soon *rate.Limiter

	mu     sync.Mutex
	failed map[informer.Owner]failed
}

// failed is how an owner fails.
type failed struct {
	cause string // others may have the same
	times int    // in a row
}

func newRetries(wake func(informer.Owner)) *retries {
	return &retries{wake: wake, soon: rate.NewLimiter(soonRate, soonBurst), failed: map[informer.Owner]failed{}}
}

// RetryAfter records that an owner has failed with an error at some kind of work, and returns for how long its retry
// should be put off. At first that is as long as it takes to spread the retries of many. If the target goes on to
// refuse it, it is tried again every few seconds; of owners that are refused alike at the same work one is in a second.
// The others are woken when one of them succeeds.
func (r *retries) RetryAfter(o informer.Owner, err error, work string) time.Duration {
	answer := answerOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	delay, f := r.soon.Reserve().Delay(), r.failed[o]
	if answer == "" {
		delete(r.failed, o)
		return delay
	}
	if cause := answer + " " + work; f.cause != cause {
		f = failed{cause: cause}
	}
	f.times++
	r.failed[o] = f
	if f.times <= soonRetries {
		return delay
	}
	alike := time.Duration(len(r.alike(f.cause, len(r.failed))))
	mean := max(min(putOffMost, putOffAlike*alike), putOffAll*time.Duration(len(r.failed)))
	//nolint:gosec // Jitter needs no secrecy.
	return max(delay, putOffLeast+rand.N(max(putOffJitter, 2*(mean-putOffLeast))))
}

// Succeeded records that an owner does not fail, and wakes others that have failed alike.
func (r *retries) Succeeded(o informer.Owner) {
	r.mu.Lock()
	var woken []informer.Owner
	if f, ok := r.failed[o]; ok {
		delete(r.failed, o)
		woken = r.alike(f.cause, wokenAtOnce)
	}
	r.mu.Unlock()
	for _, other := range woken {
		r.wake(other)
	}
}

// alike returns owners that fail for a cause, at most so many. The caller holds the lock.
func (r *retries) alike(cause string, most int) (owners []informer.Owner) {
	for o, f := range r.failed {
		if len(owners) == most {
			break
		}
		if f.cause == cause {
			owners = append(owners, o)
		}
	}
	return owners
}

// forget drops an owner.
func (r *retries) forget(o informer.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failed, o)
}

// answerOf returns what kind of answer of a server an error is, empty if it is none.
func answerOf(err error) string {
	var status apierrors.APIStatus
	var transport *url.Error
	var foreign foreignError
	switch {
	case errors.As(err, &status):
		return fmt.Sprint(status.Status().Code, status.Status().Reason)
	case errors.As(err, &foreign):
		return strconv.Itoa(foreign.code)
	case errors.As(err, &transport):
		return "transport"
	}
	return ""
}
