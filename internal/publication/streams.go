package publication

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A streamKey is a stream of what is related to objects: of an endpoint, or of a namespace of the service cluster if
// endpoint is empty.
type streamKey struct {
	endpoint  string
	resource  schema.GroupVersionResource
	namespace string
}

// streams are those that objects need beside those of the objects themselves.
type streams struct {
	open  func(streamKey) *informer.Table // nil if there is no such stream
	links *dependencyIndex[streamKey]

	mu     sync.Mutex
	tables map[streamKey]*informer.Table
}

func newStreams(open func(streamKey) *informer.Table) *streams {
	return &streams{open: open, links: newDependencyIndex[streamKey](), tables: map[streamKey]*informer.Table{}}
}

// get returns a stream, opened if need be, nil if that cannot be.
func (s *streams) get(k streamKey) *informer.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tables[k]
	if !ok {
		if t = s.open(k); t != nil {
			s.tables[k] = t
		}
	}
	return t
}

// find returns a stream, nil if it is not open.
func (s *streams) find(k streamKey) *informer.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[k]
}

// need makes streams all that an object needs. Those of the service cluster that nobody needs any more are closed;
// those of an endpoint stay, as objects of all workspaces come by them.
func (s *streams) need(p objectsync.Primary, keys set[streamKey]) {
	for _, k := range s.links.set(p, keys) {
		if k.endpoint == "" {
			s.closeUnless(k, func() bool { return len(s.links.of(k)) > 0 })
		}
	}
}

func (s *streams) closeUnless(k streamKey, needed func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[k]; ok && !needed() {
		t.Close()
		delete(s.tables, k)
	}
}

// renew lists again what the streams of an endpoint show.
func (s *streams) renew(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.tables {
		if k.endpoint == endpoint {
			t.Renew()
		}
	}
}

// closeAll closes the streams of an endpoint.
func (s *streams) closeAll(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, t := range s.tables {
		if k.endpoint == endpoint {
			t.Close()
			delete(s.tables, k)
		}
	}
}

// inCluster returns the name by which a stream of an endpoint knows a resource.
func inCluster(cluster string, n types.NamespacedName) types.NamespacedName {
	n.Namespace = cluster + "/" + n.Namespace
	return n
}

// closeNamespaces closes the streams of the service cluster.
func (s *streams) closeNamespaces() { s.closeAll("") }
