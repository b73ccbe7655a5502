package publication

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// inherit takes over from an earlier publication where workspaces are.
func (p *publication) inherit(from *publication) {
	from.mu.Lock()
	defer from.mu.Unlock()
	p.workspaceIndex.inherit(&from.workspaceIndex)
	p.restored, p.suspects = from.restored, maps.Clone(from.suspects)
}

// adapt follows consumers as they come and go.
func (p *publication) adapt(c Consumers) {
	wanted := map[string]*target.Cluster{}
	for _, e := range c.Endpoints {
		wanted[e.URL] = e.Cluster
	}
	p.mu.Lock()
	allowed := p.workspaceIndex.changes(c)
	changed, renewed := p.workspaceIndex.follow(c)
	var gone []*endpoint
	for url, e := range p.endpoints {
		if wanted[url] == e.cluster {
			delete(wanted, url)
			continue
		}
		gone = append(gone, e)
		delete(p.endpoints, url)
	}
	p.bindings.keep(c.Workspaces)
	for _, e := range p.endpoints {
		e.forget(c.Workspaces)
	}
	p.mu.Unlock()
	for _, e := range gone {
		p.leaveEndpoint(e)
	}
	for url, cluster := range wanted {
		p.join(url, cluster)
	}
	for _, cluster := range allowed {
		p.retryRefused(refuser{cluster: cluster, above: true})
	}
	if changed {
		p.seekLost()
		p.forgetWorkspacesSoon()
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
		informer.Interest{
			Resource: p.config.Sync.Primary.Workspace.GroupVersionResource, Stream: informer.StreamAllWorkspaces,
		}, nil)
	e.objects.Listen(func(n types.NamespacedName) { p.enqueue(e, n) })
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
		p.seekLost()
	}()
}

// enqueue adds an object of an endpoint to the queue.
func (p *publication) enqueue(e *endpoint, n types.NamespacedName) {
	item := primaryOf(n)
	p.mu.Lock()
	if p.endpoints[e.url] == e {
		p.workspaceIndex.homes[item.Cluster] = e.url
	}
	if p.arrived != nil {
		p.arrived[item.Cluster] = struct{}{}
	}
	p.mu.Unlock()
	p.queue.Add(item)
}

// seekLost has copies looked at whose objects are not there any more, or whose workspaces are known to be gone and not
// known to have left them behind.
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
		item := objectsync.Primary{Cluster: cluster, NamespacedName: source}
		if p.isLost(item) {
			p.queue.Add(item)
		}
	}
}

// isLost reports whether an object seems to have gone without a word. Of endpoints that do not show all they have,
// nothing is said.
func (p *publication) isLost(item objectsync.Primary) bool {
	bound, gone := p.standing(item.Cluster)
	if gone || !bound {
		return gone
	}
	e, _ := p.whereIs(item.Cluster)
	return e != nil && e.objects.Ready() == nil && e.objects.Get(inCluster(item.Cluster, item.NamespacedName)) == nil
}
