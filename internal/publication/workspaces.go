package publication

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// Consumers are who has bound an API, and where they are reached.
type Consumers struct {
	// Endpoints are those of the APIExport, in one order.
	Endpoints []Endpoint
	// Workspaces are those whose binding to the APIExport an endpoint shows, also one that is being deleted, by their
	// logical clusters. Objects of others are not synced, whatever endpoints show.
	Workspaces map[string]Workspace
	// Schemas are the names of those by which the workspaces know the API and what is related to it.
	Schemas []string
}

// An Endpoint is a virtual workspace of an APIExport: all workspaces of a shard.
type Endpoint struct {
	URL     string
	Cluster *target.Cluster
	// Listed reports whether it shows all bindings it has.
	Listed bool
}

// A Workspace is one with a binding to an APIExport.
type Workspace struct {
	// Path is that of the workspace, empty if it is not known, and Endpoint the URL of the endpoint that shows it.
	Path, Endpoint string
	// Bound reports whether it can use the API.
	Bound bool
	// Hidden are the resources whose permission claims it has not accepted, as resource.group, sorted and separated by
	// commas.
	Hidden string
}

// A workspace is what is known of a logical cluster as long as its binding is shown or anything of it is left. The lock
// of the publication guards it.
//
// That no endpoint shows a workspace does not mean that it is gone: kcp tells of its endpoints one by one, so that a
// whole shard may be missing for a moment. A workspace is gone if the endpoint it was last seen at shows all bindings
// and none of the workspace. Of one that has not been seen since the program started nothing is known, and nobody can
// be asked: endpoints refuse to tell of workspaces without a binding in the same words as of those that do not exist or
// are of another shard.
type workspace struct {
	// Workspace is what its binding says. Its Endpoint is the one that it was last seen at.
	Workspace

	shown      bool
	gone       bool        // It is known not to bind the APIExport any more. See whatOf.
	left       time.Time   // when it was shown no more
	objects    int         // how many of its objects, copies and states are known
	namespaces set[string] // of the service cluster that its objects look at, beside those of their copies
	look       *bindingLook
	used       int // by its objects together: see mayUse
}

// workspace returns what is known of a logical cluster. The caller holds the lock.
func (p *publication) workspace(cluster string) *workspace {
	if p.workspaces[cluster] == nil {
		p.workspaces[cluster] = &workspace{namespaces: set[string]{}}
	}
	return p.workspaces[cluster]
}

// whatOf returns a copy of what is known of a logical cluster.
func (p *publication) whatOf(cluster string) workspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.workspaces[cluster]
	if w == nil {
		return workspace{}
	}
	is := *w
	is.gone = !w.shown && slices.ContainsFunc(p.consumers.Endpoints,
		func(e Endpoint) bool { return e.Listed && e.URL == w.Endpoint })
	return is
}

// forgetWorkspace forgets a logical cluster that neither binds the API nor has anything left. The caller holds the
// lock.
func (p *publication) forgetWorkspace(cluster string) {
	if w := p.workspaces[cluster]; w != nil && !w.shown && w.objects == 0 {
		delete(p.workspaces, cluster)
	}
}

// hides reports whether a workspace has not accepted the permission claim for a resource.
func (p *publication) hides(cluster, resource string) bool {
	return slices.Contains(strings.Split(p.whatOf(cluster).Hidden, ","), resource)
}

// inherit takes over from an earlier publication where workspaces are, and which objects a restore may have undone.
func (p *publication) inherit(from *publication) {
	from.mu.Lock()
	defer from.mu.Unlock()
	p.restored = from.restored
	for cluster, w := range from.workspaces {
		is := p.workspace(cluster)
		is.Path, is.Endpoint, is.left = w.Path, w.Endpoint, w.left
	}
	for item, o := range from.objects {
		if o.suspect {
			p.object(item).suspect = true
		}
	}
}

// follow takes over who binds the API by now, and reports whether that or the endpoints differ. It returns the logical
// clusters whose bindings are shown again or allow something else than before. The caller holds the lock.
func (p *publication) follow(c Consumers) (changed bool, allowed set[string]) {
	was := p.consumers
	p.consumers, allowed = c, set[string]{}
	for cluster, is := range c.Workspaces {
		w := p.workspace(cluster)
		if !w.shown || w.Bound != is.Bound || w.Hidden != is.Hidden {
			allowed[cluster] = struct{}{}
		}
		is.Path = cmp.Or(is.Path, w.Path)
		w.Workspace, w.shown = is, true
	}
	for cluster, w := range p.workspaces {
		if _, still := c.Workspaces[cluster]; w.shown && !still {
			w.shown, w.Bound, w.Hidden, w.left, w.look = false, false, "", time.Now(), nil
			p.forgetWorkspace(cluster)
		}
	}
	return !maps.Equal(was.Workspaces, c.Workspaces) || !slices.Equal(was.Endpoints, c.Endpoints), allowed
}

// adapt follows consumers as they come and go.
func (p *publication) adapt(c Consumers) {
	wanted := map[string]*target.Cluster{}
	for _, e := range c.Endpoints {
		wanted[e.URL] = e.Cluster
	}
	p.mu.Lock()
	was := p.consumers.Schemas
	changed, allowed := p.follow(c)
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
	if len(allowed) > 0 {
		p.retryRefused(func(by refuser) bool {
			_, is := allowed[by.cluster]
			return is && by.above
		})
		p.addAll(allowed)
	}
	if changed {
		p.seekLost()
	}
	if len(was) > 0 && len(c.Schemas) > 0 && !slices.Equal(was, c.Schemas) {
		go p.renew()
	}
}
