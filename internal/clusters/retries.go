package clusters

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// soonRetries is how many times in a row an owner may fail before its retries are put off, and soonOwners how many
	// owners of a namespace may fail at the same time.
	soonRetries = 6
	soonOwners  = 200
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

// retries are those of the owners that fail on a target. The more of a namespace fail alike, the more seldom each is
// tried again. When one succeeds it wakes others, and so on.
type retries struct {
	wake func(informer.Owner)

	mu     sync.Mutex
	failed map[informer.Owner]failed
}

// failed is how an owner fails.
type failed struct {
	cause string // others may have the same
	times int    // in a row
}

// RetryAfter records that an owner has failed with an error at some kind of work, and returns for how long its retry
// should be put off: not at all at first, unless there are many. If it goes on to fail, it is tried again every few
// seconds; of owners that fail alike at the same work one is in a second. The others are woken when one of them
// succeeds.
func (r *retries) RetryAfter(o informer.Owner, err error, work string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failed[o]
	if cause := answerOf(err) + " " + work; f.cause != cause {
		f = failed{cause: cause}
	}
	f.times++
	r.failed[o] = f
	all, alike := 0, 0 // in the namespace: no tenant puts off what is another's
	for other, known := range r.failed {
		if other.Namespace == o.Namespace {
			all++
			if known.cause == f.cause {
				alike++
			}
		}
	}
	if f.times <= soonRetries && all <= soonOwners {
		return 0
	}
	mean := max(min(putOffMost, putOffAlike*time.Duration(alike)), putOffAll*time.Duration(all))
	return putOffLeast + rand.N(max(putOffJitter, 2*(mean-putOffLeast))) //nolint:gosec // Jitter needs no secrecy.
}

// Succeeded records that an owner does not fail, and wakes others that have failed alike.
func (r *retries) Succeeded(o informer.Owner) {
	r.mu.Lock()
	var woken []informer.Owner
	if f, ok := r.failed[o]; ok {
		delete(r.failed, o)
		woken = r.alike(f.cause)
	}
	r.mu.Unlock()
	for _, other := range woken {
		r.wake(other)
	}
}

// alike returns owners that fail for a cause, at most wokenAtOnce. The caller holds the lock.
func (r *retries) alike(cause string) (owners []informer.Owner) {
	for o, f := range r.failed {
		if len(owners) < wokenAtOnce && f.cause == cause {
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
	var foreign foreignError
	switch {
	case errors.As(err, &status):
		return fmt.Sprint(status.Status().Code, status.Status().Reason)
	case errors.As(err, &foreign):
		return strconv.Itoa(foreign.code)
	}
	return ""
}
