package publication

import (
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// retryFirst and retryMax bound the pause before an object that failed is tried again, which doubles each time.
	retryFirst = 50 * time.Millisecond
	retryMax   = 30 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[objectsync.Primary]

// newQueue returns a queue in which workspaces take turns.
func newQueue() queue {
	type item = objectsync.Primary
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[item]{Queue: &turns{of: map[string][]item{}}})
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[item](retryFirst, retryMax),
		workqueue.TypedRateLimitingQueueConfig[item]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[item]{Queue: q}),
		})
}

// turns hands out one object of each workspace in turn. Its caller holds a lock.
type turns struct {
	of    map[string][]objectsync.Primary // by logical cluster, none of them empty
	order []string                        // logical clusters in the order of their turns
	count int
}

var _ workqueue.Queue[objectsync.Primary] = &turns{}

// Touch does nothing: what waits keeps its place.
func (t *turns) Touch(objectsync.Primary) {}

// Push adds an object at the end of those of its workspace.
func (t *turns) Push(p objectsync.Primary) {
	if len(t.of[p.Cluster]) == 0 {
		t.order = append(t.order, p.Cluster)
	}
	t.of[p.Cluster] = append(t.of[p.Cluster], p)
	t.count++
}

// Len returns how many objects wait.
func (t *turns) Len() int { return t.count }

// Pop takes the first object of the workspace whose turn it is.
func (t *turns) Pop() objectsync.Primary {
	cluster := t.order[0]
	t.order = t.order[1:]
	waiting := t.of[cluster]
	p := waiting[0]
	t.count--
	if len(waiting) == 1 {
		delete(t.of, cluster)
		return p
	}
	t.of[cluster] = waiting[1:]
	t.order = append(t.order, cluster)
	return p
}
