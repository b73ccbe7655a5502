package publication

import (
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/fairqueue"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/jsonpath"
	"github.com/crossplane-contrib/provider-kcp/internal/mutation"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// retryFirst is the pause before an object that failed is tried again, which doubles each time. If only a change
	// cures the cause, the pause grows twentyfold: after half a minute such an object rests for more than six, although
	// many that are refused together wait for each other.
	retryFirst    = 50 * time.Millisecond
	lastingGrowth = 20
	// earlyMost bounds the pause if something is not known yet, retryMost if the cause may pass, and lastingMost if
	// only a change cures it, which is a reason by itself to look again.
	earlyMost   = time.Second
	retryMost   = 30 * time.Second
	lastingMost = 10 * time.Minute
)

// A queue hands out the objects of workspaces in turns, and those that failed again after a while.
type queue struct {
	workqueue.TypedDelayingInterface[objectsync.Primary]

	passing, lasting workqueue.TypedRateLimiter[objectsync.Primary] // of causes that may pass, and of those that last
}

func newQueue() queue {
	return queue{
		TypedDelayingInterface: fairqueue.NewDelaying(fairqueue.Options[objectsync.Primary]{
			Workers: workers,
			Lane:    func(p objectsync.Primary) fairqueue.Lane { return fairqueue.Lane{Tenant: p.Cluster} },
		}),
		passing: workqueue.NewTypedItemExponentialFailureRateLimiter[objectsync.Primary](retryFirst, retryMost),
		lasting: newGrowingLimiter(retryFirst, lastingMost, lastingGrowth),
	}
}

// Retry adds an object that failed after a pause, which depends on the error and on how often it has failed so in a
// row.
func (q queue) Retry(p objectsync.Primary, err error) { q.AddAfter(p, q.pause(p, err)) }

func (q queue) pause(p objectsync.Primary, err error) time.Duration {
	if isLasting(err) {
		q.passing.Forget(p)
		return q.lasting.When(p)
	}
	q.lasting.Forget(p) // After an outage what lasts may have passed, too.
	pause := q.passing.When(p)
	if isEarly(err) {
		return min(pause, earlyMost)
	}
	return pause
}

// Forget forgets that an object has failed.
func (q queue) Forget(p objectsync.Primary) {
	q.passing.Forget(p)
	q.lasting.Forget(p)
}

// isEarly reports whether an error means that something is not known yet.
func isEarly(err error) bool {
	return informer.IsNotSynced(err) || errors.Is(err, errEndpointGone) || errors.Is(err, errNoBinding)
}

// lasting are causes that only a change of the object, of what has its name or of the spec cures.
var lasting = []error{
	objectsync.ErrForeign, objectsync.ErrExists, objectsync.ErrAmbiguous, objectsync.ErrTooLarge,
	objectsync.ErrNoNamespace, objectsync.ErrUneven, objectsync.ErrInvalidName, objectsync.ErrTooMany,
	objectsync.ErrTooManyNamespaces, objectsync.ErrCredential, naming.ErrInvalidName, mutation.ErrFailed,
	gotemplate.ErrFailed, gotemplate.ErrTooCostly, jsonpath.ErrTooLong, errPanic,
}

func isLasting(err error) bool {
	for _, cause := range lasting {
		if errors.Is(err, cause) {
			return true
		}
	}
	return objectsync.RefusalOf(err) != nil
}
