package clusters

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

const (
	// retryFirst and retryMost bound the pause before an owner that fails is tried again. It doubles each time.
	retryFirst = 200 * time.Millisecond
	retryMost  = time.Minute
	// retryRate is how many owners of a namespace are tried again in a second, and retryBurst how many at once.
	retryRate  = 10
	retryBurst = 100
)

// newRetries returns what says when owners that fail on a target are tried again. It is the default limiter of
// controller-runtime, with a bucket for each namespace: no tenant puts off what is another's.
func newRetries() workqueue.TypedRateLimiter[informer.Owner] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[informer.Owner](retryFirst, retryMost), &buckets{})
}

// buckets are the token buckets of owners by namespace.
type buckets struct{ sync.Map }

// When returns when the bucket of an owner has a token.
func (b *buckets) When(o informer.Owner) time.Duration {
	bucket, _ := b.LoadOrStore(o.Namespace, rate.NewLimiter(retryRate, retryBurst))
	return bucket.(*rate.Limiter).Reserve().Delay() //nolint:forcetypeassert // There is nothing else in it.
}

// Forget changes no bucket.
func (*buckets) Forget(informer.Owner) {}

// NumRequeues counts none.
func (*buckets) NumRequeues(informer.Owner) int { return 0 }
