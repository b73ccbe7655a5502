package publication

import (
	"sync"

	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// shares is into how many parts workers are divided.
const shares = 4

// fairQueue is a queue that hands out one object of each workspace in turn, and no object that is under way. The last
// of its workers are kept for workspaces with little under way, so that one whose requests take long does not hold all
// of them.
type fairQueue struct {
	workers int // how many objects are under way at most

	mu      sync.Mutex
	changed *sync.Cond
	dirty   set[objectsync.Primary]         // what waits, or comes again when it is no longer under way
	busy    set[objectsync.Primary]         // what is under way
	waiting map[string][]objectsync.Primary // by logical cluster, none of them empty
	order   []string                        // logical clusters in the order of their turns
	held    map[string]int                  // how many are under way, by logical cluster, none of them zero
	ended   bool
}

var _ workqueue.TypedInterface[objectsync.Primary] = &fairQueue{}

func newFairQueue(workers int) *fairQueue {
	t := &fairQueue{
		workers: workers, dirty: set[objectsync.Primary]{}, busy: set[objectsync.Primary]{},
		waiting: map[string][]objectsync.Primary{}, held: map[string]int{},
	}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// Add has an object handed out, at the end of those of its workspace. One that waits keeps its place.
func (t *fairQueue) Add(p objectsync.Primary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.dirty[p]; known || t.ended {
		return
	}
	t.dirty[p] = struct{}{}
	if _, busy := t.busy[p]; !busy {
		t.push(p)
	}
}

// push adds an object to those that wait. The caller holds the lock.
func (t *fairQueue) push(p objectsync.Primary) {
	if len(t.waiting[p.Cluster]) == 0 {
		t.order = append(t.order, p.Cluster)
	}
	t.waiting[p.Cluster] = append(t.waiting[p.Cluster], p)
	t.changed.Broadcast()
}

// Len returns how many objects wait.
func (t *fairQueue) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := 0
	for _, all := range t.waiting {
		count += len(all)
	}
	return count
}

// Get waits for the object whose turn it is. After ShutDown it hands out none.
func (t *fairQueue) Get() (p objectsync.Primary, shutdown bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if t.ended {
			return objectsync.Primary{}, true
		}
		if i := t.next(); i < len(t.order) {
			return t.take(i), false
		}
		t.changed.Wait()
	}
}

// next returns whose turn it is as an index of order, its length if nobody's. The caller holds the lock.
func (t *fairQueue) next() int {
	share := t.workers / shares
	for i, cluster := range t.order {
		if t.held[cluster] < share || len(t.busy) < t.workers-share {
			return i
		}
	}
	return len(t.order)
}

// take hands out the first object of a workspace, which gets the last turn. The caller holds the lock.
func (t *fairQueue) take(i int) objectsync.Primary {
	cluster := t.order[i]
	t.order = append(t.order[:i:i], t.order[i+1:]...)
	p := t.waiting[cluster][0]
	if t.waiting[cluster] = t.waiting[cluster][1:]; len(t.waiting[cluster]) == 0 {
		delete(t.waiting, cluster)
	} else {
		t.order = append(t.order, cluster)
	}
	delete(t.dirty, p)
	t.busy[p] = struct{}{}
	t.held[cluster]++
	return p
}

// Done says that an object is no longer under way.
func (t *fairQueue) Done(p objectsync.Primary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, p)
	if t.held[p.Cluster]--; t.held[p.Cluster] <= 0 {
		delete(t.held, p.Cluster)
	}
	if _, again := t.dirty[p]; again && !t.ended {
		t.push(p)
	}
	t.changed.Broadcast()
}

// ShutDown ends the queue.
func (t *fairQueue) ShutDown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Broadcast()
}

// ShutDownWithDrain ends the queue and waits for what is under way.
func (t *fairQueue) ShutDownWithDrain() {
	t.ShutDown()
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.busy) > 0 {
		t.changed.Wait()
	}
}

// ShuttingDown reports whether the queue has ended.
func (t *fairQueue) ShuttingDown() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}
