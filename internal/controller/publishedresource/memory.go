package publishedresource

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// managedResources has the name and the meaning of api-syncagent's only metric, so that dashboards go on.
var managedResources = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "sync_agent_published_resource", Help: "PublishedResources that this provider reconciles.",
})

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(managedResources)
}

// A memory is what is known of one PublishedResource from one reconcile to the next. One reconcile runs at a time.
type memory struct {
	endpoints   []string    // URLs that it is connected to
	source      knownSource // of what it publishes
	projected   projected   // what its spec makes of its source: to project takes longer than all else
	projectedAs string      // the spec and the source that this is of
	compiled    string      // the spec that last compiled
	written     time.Time   // when its status was last written
	published   time.Time   // when the APIExport has last been written for it
	related     map[apiAt]objectsync.Resource
	relatedAs   int64     // the generation that these are of
	releasing   time.Time // since when finalizers are taken off, for one that goes without them

	holds exportedResource // what it publishes; guarded by the mutex of memories
}

// An apiAt is an API as a server, or as an APIResourceSchema, which never changes, has it.
type apiAt struct {
	schema.GroupVersionResource

	of string // URL or name
}

// remember returns what is known of an API, or asks. What has been found once is not asked for again before the spec of
// the PublishedResource is another.
func (m *memory) remember(at apiAt, ask func() (objectsync.Resource, error)) (objectsync.Resource, error) {
	found, ok := m.related[at]
	if ok {
		return found, nil
	}
	if m.related == nil {
		m.related = map[apiAt]objectsync.Resource{}
	}
	found, err := ask()
	if err == nil {
		m.related[at] = found
	}
	return found, err
}

const (
	// statusEvery is how often a status is written at most. Each write makes those who have read the PublishedResource
	// before, and update it, start anew.
	statusEvery = time.Second
	// publishedCalm is for how long no status is written after a publication, so that who has waited for that can
	// update the PublishedResource.
	publishedCalm = 2 * time.Second
)

// wait returns how long a status that differs from the last one is not to be written. Zero counts as written.
func (m *memory) wait(now time.Time) time.Duration {
	left := max(m.published.Add(publishedCalm).Sub(now), m.written.Add(statusEvery).Sub(now), 0)
	if left == 0 {
		m.written = now
	}
	return left
}

// An exportedResource is one resource of one APIExport.
type exportedResource struct {
	server, export string
	resource       schema.GroupResource
}

// Memories are those of all PublishedResources that are reconciled here, by name. Only one PublishedResource may
// publish a resource in an APIExport: the first one has it until it goes or moves.
type memories struct {
	mu sync.Mutex
	of map[string]*memory
}

func newMemories() *memories { return &memories{of: map[string]*memory{}} }

// get returns the memory of a PublishedResource, an empty one for a new one.
func (m *memories) get(name string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[name] == nil {
		m.of[name] = &memory{}
		managedResources.Inc()
	}
	return m.of[name]
}

// forget forgets a PublishedResource, and returns the URLs of the endpoints that it was connected to.
func (m *memories) forget(name string) (endpoints []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.of[name]; ok {
		endpoints = was.endpoints
		delete(m.of, name)
		managedResources.Dec()
	}
	return endpoints
}

// claim gives an exported resource to a PublishedResource, which loses the one it had, unless another one has it, and
// returns who has it.
func (m *memories) claim(r exportedResource, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, its := range m.of {
		if other != name && its.holds == r {
			return other
		}
	}
	m.of[name].holds = r
	return name
}
