package publication

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A growingLimiter is a rate limiter whose pauses grow by a factor. Methods may be called concurrently.
type growingLimiter struct {
	first, most time.Duration
	growth      float64

	mu       sync.Mutex
	failures map[objectsync.Primary]int
}

var _ workqueue.TypedRateLimiter[objectsync.Primary] = &growingLimiter{}

func newGrowingLimiter(first, most time.Duration, growth float64) *growingLimiter {
	return &growingLimiter{first: first, most: most, growth: growth, failures: map[objectsync.Primary]int{}}
}

// When returns how long an object rests that has failed once more.
func (l *growingLimiter) When(p objectsync.Primary) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.failures[p]
	l.failures[p]++
	return time.Duration(min(float64(l.first)*math.Pow(l.growth, float64(n)), float64(l.most)))
}

// Forget forgets that an object has failed.
func (l *growingLimiter) Forget(p objectsync.Primary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, p)
}

// NumRequeues returns how often an object has failed in a row.
func (l *growingLimiter) NumRequeues(p objectsync.Primary) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures[p]
}

// A refuser is what objects are refused by that are cured together: a workspace, or the service cluster for the objects
// of a workspace. Without a logical cluster it is the rights that the provider has on the service cluster, on which no
// consumer decides.
type refuser struct {
	cluster string
	above   bool // in the workspace
}

// A refusalIndex knows the objects that a server has refused to write something for, and which one. Methods may be
// called concurrently.
type refusalIndex struct {
	mu sync.Mutex
	by map[objectsync.Primary]refuser
	// rights is when all objects were last tried again that lack rights on the service cluster.
	rights time.Time
	// lacking are the objects that lack rights on the service cluster, and to which resource, and probed is which probe
	// of an object was the last of each.
	lacking map[objectsync.Primary]schema.GroupResource
	probed  map[schema.GroupResource]int
	probes  int
}

// rightsEvery is how often objects of all workspaces are tried again at most because one of them is allowed by now.
const rightsEvery = 10 * time.Second

func newRefusalIndex() *refusalIndex {
	return &refusalIndex{
		by: map[objectsync.Primary]refuser{}, lacking: map[objectsync.Primary]schema.GroupResource{},
		probed: map[schema.GroupResource]int{},
	}
}

// set records that a server refuses to write a resource for an object.
func (r *refusalIndex) set(p objectsync.Primary, server refuser, resource schema.GroupResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[p] = server
	if delete(r.lacking, p); server == (refuser{}) {
		r.lacking[p] = resource
	}
}

// drop forgets an object, and returns which server has refused something for it.
func (r *refusalIndex) drop(p objectsync.Primary) (server refuser, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server, refused = r.by[p]
	delete(r.by, p)
	delete(r.lacking, p)
	return server, refused
}

// of returns the objects that a server has refused something for, none if that was asked a moment ago for the objects
// of all workspaces.
func (r *refusalIndex) of(server refuser) []objectsync.Primary {
	r.mu.Lock()
	defer r.mu.Unlock()
	if server == (refuser{}) {
		if time.Since(r.rights) < rightsEvery {
			return nil
		}
		r.rights = time.Now()
	}
	var out []objectsync.Primary
	for p, by := range r.by {
		if by == server {
			out = append(out, p)
		}
	}
	return out
}

// noteRefusal records whether an object has been refused. What cures one cures others: if it is refused no more, the
// others that the same server has refused are tried again.
func (p *publication) noteRefusal(item objectsync.Primary, err error) {
	if r := objectsync.RefusalOf(err); r != nil {
		server := refuser{cluster: item.Cluster, above: r.Workspace}
		if !r.Workspace && r.Cause == objectsync.RefusedByRights {
			server = refuser{}
		}
		p.refusals.set(item, server, r.Resource)
		return
	}
	if err != nil {
		return
	}
	if server, was := p.refusals.drop(item); was {
		p.retryRefused(server)
	}
}

// retryRefused tries again all objects that a server has refused, with new pauses.
func (p *publication) retryRefused(server refuser) {
	for _, item := range p.refusals.of(server) {
		p.queue.Forget(item)
		p.queue.Add(item)
	}
}

// ownStates knows which object has last written each state. Methods may be called concurrently.
type ownStates struct {
	mu sync.Mutex
	by map[types.NamespacedName]stateWrite
}

type stateWrite struct {
	item    objectsync.Primary
	version string
}

func newOwnStates() *ownStates { return &ownStates{by: map[types.NamespacedName]stateWrite{}} }

// note records the answer to the write of a state.
func (o *ownStates) note(n types.NamespacedName, u *unstructured.Unstructured, item objectsync.Primary) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.by[n] = stateWrite{item, u.GetResourceVersion()}
}

// writerOf returns which object has written a state as it is now, and false if that was somebody else. Nil is a state
// that is gone.
func (o *ownStates) writerOf(n types.NamespacedName, u *unstructured.Unstructured) (item objectsync.Primary, own bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if u == nil {
		delete(o.by, n)
		return item, false
	}
	w, ok := o.by[n]
	return w.item, ok && w.version == u.GetResourceVersion()
}
