package publication

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// An endpoint is one that is watched.
type endpoint struct {
	url     string
	cluster *target.Cluster
	objects *informer.Table
	look    *departureLook // the last; the lock of the publication guards it
}

// errEndpointGone means that the endpoint of a workspace goes while one of its objects is synced.
var errEndpointGone = errors.New("the endpoint of the workspace is no longer there")

// endpointOf returns the endpoint of a workspace, nil if none shows it.
func (p *publication) endpointOf(cluster string) *endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.workspaces[cluster]; w != nil {
		return p.endpoints[w.Endpoint]
	}
	return nil
}

// allEndpoints returns the endpoints there are.
func (p *publication) allEndpoints() []*endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.endpoints))
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

// join opens the streams of an endpoint.
func (p *publication) join(url string, cluster *target.Cluster) {
	e := &endpoint{url: url, cluster: cluster}
	e.objects = cluster.Watches().Table(
		informer.Interest{
			Resource: p.config.Sync.Primary.Workspace.GroupVersionResource, Stream: informer.StreamAllWorkspaces,
		}, nil)
	e.objects.Listen(func(n types.NamespacedName) { p.add(primaryOf(n)) })
	p.mu.Lock()
	p.endpoints[url] = e
	p.mu.Unlock()
	for _, pair := range p.config.Sync.Related {
		_, _ = p.relatedBy(streamOf(url, pair.Workspace.GroupVersionResource)) // The endpoint may have gone.
	}
	go func() {
		if e.objects.Await(p.ctx) != nil {
			return // What comes later is told of.
		}
		for _, n := range e.objects.Names() {
			p.add(primaryOf(n))
		}
		p.seekLost()
	}()
}

// streamOf is the need of a stream of related resources: of an endpoint or, without a URL, of the service cluster.
func streamOf(url string, r schema.GroupVersionResource) need {
	return need{cluster: url, resource: unique.Make(r), use: toStream}
}

// relatedBy returns a stream of related resources, opened if need be. Some object needs it, or it is of an endpoint.
func (p *publication) relatedBy(k need) (*informer.Table, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.related[k]; t != nil {
		return t, nil
	}
	cluster := p.config.Service
	r := k.resource.Value()
	i := informer.Interest{Resource: r, NamespacedName: k.NamespacedName, Stream: informer.StreamBySelector}
	changed := func(n types.NamespacedName) { p.wake(lookAt(n, "", r)) }
	if k.cluster != "" {
		e := p.endpoints[k.cluster]
		if e == nil {
			return nil, errEndpointGone
		}
		cluster, i.Stream = e.cluster, informer.StreamAllWorkspacesInPart
		changed = func(n types.NamespacedName) {
			at := primaryOf(n)
			p.wake(lookAt(at.NamespacedName, at.Cluster, r))
		}
	}
	t := cluster.Watches().Table(i, nil)
	t.Listen(changed)
	p.related[k] = t
	return t, nil
}

// closeRelated closes the streams of related resources of an endpoint or, without a URL, of the service cluster.
func (p *publication) closeRelated(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, t := range p.related {
		if k.cluster == url {
			t.Close()
			delete(p.related, k)
		}
	}
}

// leaveEndpoint closes the streams of an endpoint, and looks once more at the objects it has shown.
func (p *publication) leaveEndpoint(e *endpoint) {
	for _, n := range e.objects.Names() {
		p.add(primaryOf(n))
	}
	e.objects.Close()
	p.closeRelated(e.url)
}

// addAll adds all objects of workspaces to the queue.
func (p *publication) addAll(clusters set[string]) {
	for _, e := range p.allEndpoints() {
		for _, n := range e.objects.Names() {
			if _, is := clusters[primaryOf(n).Cluster]; is {
				p.add(primaryOf(n))
			}
		}
	}
}

// renewAgain is how long kcp may take at most to use a schema for streams after it has told of it.
const renewAgain = 10 * time.Second

// renew has all endpoints shown by the schemas that the workspaces know by now.
func (p *publication) renew() {
	p.renewStreams()
	select {
	case <-time.After(renewAgain):
		p.renewStreams()
	case <-p.ctx.Done():
	}
}

func (p *publication) renewStreams() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.endpoints {
		e.objects.Renew()
	}
	for k, t := range p.related {
		if k.cluster != "" {
			t.Renew()
		}
	}
}
