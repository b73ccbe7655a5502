package publication

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// Consumers are who has bound an API, and where they are reached.
type Consumers struct {
	// Endpoints are those of the APIExport.
	Endpoints []Endpoint
	// Workspaces holds the paths of the workspaces that have bound the API, by their logical clusters.
	Workspaces map[string]string
	// Complete says whether these are known to be all workspaces.
	Complete bool
	// Schemas are the names of those by which the workspaces know the API and what is related to it.
	Schemas []string
}

// bound says whether a workspace has bound the API, and gone whether it is known not to have.
func (c Consumers) bound(cluster string) (bound, gone bool) {
	_, bound = c.Workspaces[cluster]
	return bound, !bound && c.Complete
}

// adapt follows consumers as they come and go.
func (p *publication) adapt(c Consumers) {
	wanted := map[string]*target.Cluster{}
	for _, e := range c.Endpoints {
		wanted[e.URL] = e.Cluster
	}
	p.mu.Lock()
	same := p.consumers.Complete == c.Complete && maps.Equal(p.consumers.Workspaces, c.Workspaces)
	renewed := len(p.consumers.Schemas) > 0 && len(c.Schemas) > 0 && !slices.Equal(p.consumers.Schemas, c.Schemas)
	p.consumers = c
	for cluster, path := range c.Workspaces {
		if path != "" {
			p.paths[cluster] = path
		}
	}
	var gone []*endpoint
	for url, e := range p.endpoints {
		if wanted[url] == e.cluster {
			delete(wanted, url)
			continue
		}
		gone = append(gone, e)
		delete(p.endpoints, url)
	}
	p.mu.Unlock()
	for _, e := range gone {
		p.leaveEndpoint(e)
	}
	for url, cluster := range wanted {
		p.join(url, cluster)
	}
	if !same {
		p.seekLost()
	}
	if renewed {
		go p.renew()
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
	all := slices.Collect(maps.Values(p.endpoints))
	p.mu.Unlock()
	for _, e := range all {
		e.objects.Renew()
		p.related.renew(e.url)
	}
}

// leaveEndpoint closes the streams of an endpoint, and looks once more at the objects it has shown.
func (p *publication) leaveEndpoint(e *endpoint) {
	p.mu.Lock()
	maps.DeleteFunc(p.clusters, func(_ string, at *endpoint) bool { return at == e })
	p.mu.Unlock()
	for _, n := range e.objects.Names() {
		p.queue.Add(primaryOf(n))
	}
	e.objects.Close()
	p.related.closeAll(e.url)
}

// join opens the streams of an endpoint.
func (p *publication) join(url string, cluster *target.Cluster) {
	e := &endpoint{url: url, cluster: cluster, clients: map[string]dynamic.Interface{}}
	e.objects = cluster.Watches().Table(
		watch.Interest{Resource: p.config.Sync.Primary.Workspace.GroupVersionResource, Scope: watch.ScopeWildcard},
		watch.TableOptions{Changed: func(n types.NamespacedName) { p.enqueue(e, n) }},
	)
	p.mu.Lock()
	p.endpoints[url] = e
	p.mu.Unlock()
	for _, pair := range p.config.Sync.Related {
		p.related.get(streamKey{endpoint: url, resource: pair.Workspace.GroupVersionResource})
	}
	go func() {
		if e.objects.Await(p.ctx) != nil {
			return // What comes later is told of.
		}
		for _, n := range e.objects.Names() {
			p.enqueue(e, n)
		}
	}()
}

// enqueue adds an object of an endpoint to the queue.
func (p *publication) enqueue(e *endpoint, n types.NamespacedName) {
	item := primaryOf(n)
	p.mu.Lock()
	if p.endpoints[e.url] == e {
		p.clusters[item.Cluster] = e
	}
	p.mu.Unlock()
	p.queue.Add(item)
}

// seekLost has copies looked at whose workspaces are known to be gone, and that are not known to have been left behind.
func (p *publication) seekLost() {
	for _, n := range p.copies.Names() {
		u := p.copies.Get(n)
		if u == nil || objectsync.IsOrphaned(u) && !p.deletesLeft() {
			continue
		}
		cluster, source, ok := objectsync.SourceOf(u)
		if !ok {
			continue
		}
		p.mu.Lock()
		_, gone := p.consumers.bound(cluster)
		p.mu.Unlock()
		if gone {
			p.queue.Add(objectsync.Primary{Cluster: cluster, NamespacedName: source})
		}
	}
}
