package publication

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// errEndpointGone means that the endpoint of a workspace goes while one of its objects is synced.
var errEndpointGone = errors.New("the endpoint of the workspace no longer exists")

// An endpoint is one that is watched.
type endpoint struct {
	url     string
	cluster *clusters.Cluster
	objects *informer.Table
}

// primaryOf returns the object of a name in a stream of an endpoint.
func primaryOf(n types.NamespacedName) objectsync.Primary {
	cluster, namespace, _ := strings.Cut(n.Namespace, "/")
	return objectsync.Primary{
		Cluster: cluster, NamespacedName: types.NamespacedName{Namespace: namespace, Name: n.Name},
	}
}

// inCluster returns the name by which a stream of an endpoint knows a resource.
func inCluster(cluster string, n types.NamespacedName) types.NamespacedName {
	n.Namespace = cluster + "/" + n.Namespace
	return n
}

// primaries returns the objects that the endpoint shows.
func (e *endpoint) primaries() (all []objectsync.Primary) {
	for _, n := range e.objects.Names() {
		all = append(all, primaryOf(n))
	}
	return all
}

// streams are those of a publication. Their methods may be called concurrently.
type streams struct {
	config         Config
	syncer         *objectsync.Syncer
	changed        func(need)      // called when what may have been looked at has changed
	copies, states *informer.Table // from open on

	mu        sync.Mutex
	endpoints map[string]*endpoint     // by URL
	related   map[need]*informer.Table // of related resources
}

// open opens the streams of copies and states.
func (s *streams) open() {
	c := s.config
	s.copies = c.Service.Watches().Table(informer.WatchRequest{
		Resource: c.Sync.Primary.Service.GroupVersionResource, Stream: informer.StreamBySelector,
		Selector: v1alpha1.LabelKeyAgentName + "=" + c.Sync.Agent,
	}, objectsync.KeyOf)
	s.states = c.Service.Watches().Table(informer.WatchRequest{
		Resource: objectsync.Secrets, Stream: informer.StreamBySelector, Selector: objectsync.LabelState + "=true",
		NamespacedName: types.NamespacedName{Namespace: c.Sync.StateNamespace},
	}, objectsync.KeyOf)
}

// close closes all streams but those of endpoints.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copies.Close()
	s.states.Close()
	s.closeRelated("")
}

// state returns the state of an object, nil if there is none.
func (s *streams) state(item objectsync.Primary) *unstructured.Unstructured {
	return s.syncer.ChooseState(item, s.states.Get(s.syncer.StateOf(item)), s.states.Keyed(item.Key()))
}

// endpoint returns the endpoint with a URL, nil if there is none.
func (s *streams) endpoint(url string) *endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoints[url]
}

// allEndpoints returns the endpoints there are.
func (s *streams) allEndpoints() []*endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.endpoints))
}

// join opens the streams of an endpoint. Changed is called with the name in them of each object that changes there.
func (s *streams) join(url string, cluster *clusters.Cluster, changed func(*endpoint, types.NamespacedName)) *endpoint {
	e := &endpoint{url: url, cluster: cluster}
	e.objects = cluster.Watches().Table(informer.WatchRequest{
		Resource: s.config.Sync.Primary.Workspace.GroupVersionResource, Stream: informer.StreamAllWorkspaces,
	}, nil)
	e.objects.Listen(func(n types.NamespacedName) { changed(e, n) })
	s.mu.Lock()
	s.endpoints[url] = e
	s.mu.Unlock()
	for _, pair := range s.config.Sync.Related {
		k := streamOf(url, types.NamespacedName{}, pair.Workspace.GroupVersionResource)
		_, _ = s.relatedBy(k) // The endpoint may have gone.
	}
	return e
}

// leave closes the streams of endpoints that are not wanted, and returns the objects they have shown. It takes those
// out of wanted that are joined.
func (s *streams) leave(wanted map[string]*clusters.Cluster) (shown []objectsync.Primary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url, e := range s.endpoints {
		if wanted[url] == e.cluster {
			delete(wanted, url)
			continue
		}
		shown = append(shown, e.primaries()...)
		e.objects.Close()
		delete(s.endpoints, url)
		s.closeRelated(url)
	}
	return shown
}

// streamOf is the need of a stream of related resources: of an endpoint or, without a URL, of a namespace of the
// service cluster, or of one resource there.
func streamOf(url string, n types.NamespacedName, r schema.GroupVersionResource) need {
	k := lookAt(n, url, r)
	k.use = useStream
	return k
}

// relatedBy returns a stream of related resources, opened if need be. Some object needs it, or it is of an endpoint.
func (s *streams) relatedBy(k need) (*informer.Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.related[k]; t != nil {
		return t, nil
	}
	cluster := s.config.Service
	r := k.resource.Value()
	i := informer.WatchRequest{Resource: r, NamespacedName: k.NamespacedName, Stream: informer.StreamMetadata}
	if k.Name != "" {
		i.Stream = informer.StreamByName
	}
	changed := func(n types.NamespacedName) { s.changed(lookAt(n, "", r)) }
	if k.cluster != "" {
		e := s.endpoints[k.cluster]
		if e == nil {
			return nil, errEndpointGone
		}
		cluster, i.Stream = e.cluster, informer.StreamAllWorkspacesMetadata
		changed = func(n types.NamespacedName) {
			at := primaryOf(n)
			s.changed(lookAt(at.NamespacedName, at.Cluster, r))
		}
	}
	t := cluster.Watches().Table(i, nil)
	t.Listen(changed)
	s.related[k] = t
	return t, nil
}

// relatedIfOpen returns a stream of related resources, nil if it is not open.
func (s *streams) relatedIfOpen(k need) *informer.Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.related[k]
}

// closeUnused closes a stream of related resources unless it is used.
func (s *streams) closeUnused(k need, isUsed func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.related[k]; t != nil && !isUsed() {
		t.Close()
		delete(s.related, k)
	}
}

// closeRelated closes the streams of related resources of an endpoint or, without a URL, of the service cluster. The
// caller holds the lock.
func (s *streams) closeRelated(url string) {
	for k, t := range s.related {
		if k.cluster == url {
			t.Close()
			delete(s.related, k)
		}
	}
}

// renew has all endpoints shown by the schemas that the workspaces know by now.
func (s *streams) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.endpoints {
		e.objects.Renew()
	}
	for k, t := range s.related {
		if k.cluster != "" {
			t.Renew()
		}
	}
}

// denied returns why a stream does not show what its server has, nil if all do.
func (s *streams) denied() (first error) {
	s.mu.Lock()
	all := append(slices.Collect(maps.Values(s.related)), s.copies, s.states)
	for _, e := range s.endpoints {
		all = append(all, e.objects)
	}
	s.mu.Unlock()
	for _, t := range all {
		err := t.Ready()
		if err != nil && (first == nil || err.Error() < first.Error()) {
			first = err
		}
	}
	return first
}
