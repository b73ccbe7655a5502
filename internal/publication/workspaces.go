package publication

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
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
	Cluster *clusters.Cluster
	// Listed reports whether it shows all bindings it has.
	Listed bool
}

// A Workspace is one with a binding to an APIExport.
type Workspace struct {
	// Path is that of the workspace, empty if it is not known, and Endpoint the URL of the endpoint that shows it.
	Path, Endpoint string
	// Bound reports whether it can use the API.
	Bound bool
	// Unbinds reports whether kcp is deleting all of its bindings.
	Unbinds bool
	// Hidden are the resources whose permission claims it has not accepted, as resource.group, sorted and separated by
	// commas.
	Hidden string
}

// A workspace is what is known of a logical cluster as long as its binding is shown or anything of it is left.
// That no endpoint shows it does not mean that it is gone: a shard may be missing for a moment, and so is a workspace
// that moves to another one.
type workspace struct {
	// Workspace is what its binding says. Endpoint and Unbinds are what they were when it was last seen.
	Workspace

	shown    bool
	absent   bool           // It is not where it was last seen, as the endpoint there says.
	gone     bool           // It is not anywhere: see homeOf.
	left     time.Time      // when it was shown no more
	objects  int            // how many of its objects, copies and states are known
	bindings *bindingReader // of its own
}

// A workspaceIndex is what is known of all workspaces. Its methods may be called concurrently.
type workspaceIndex struct {
	mu        sync.Mutex
	consumers Consumers
	known     map[string]*workspace // by logical cluster
}

// record returns what is known of a logical cluster. The caller holds the lock.
func (x *workspaceIndex) record(cluster string) *workspace {
	if x.known[cluster] == nil {
		x.known[cluster] = &workspace{bindings: &bindingReader{}}
	}
	return x.known[cluster]
}

// forget forgets a logical cluster that neither binds the API nor has anything left. The caller holds the lock.
func (x *workspaceIndex) forget(cluster string) {
	if w := x.known[cluster]; w != nil && !w.shown && w.objects == 0 {
		delete(x.known, cluster)
	}
}

// get returns a copy of what is known of a logical cluster.
func (x *workspaceIndex) get(cluster string) workspace {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.known[cluster]
	if w == nil {
		return workspace{bindings: &bindingReader{}}
	}
	is := *w
	is.absent = !w.shown && slices.ContainsFunc(x.consumers.Endpoints,
		func(e Endpoint) bool { return e.Listed && e.URL == w.Endpoint })
	return is
}

// hides reports whether a workspace has not accepted the permission claim for a resource.
func (x *workspaceIndex) hides(cluster, resource string) bool {
	return slices.Contains(strings.Split(x.get(cluster).Hidden, ","), resource)
}

// count takes that more objects of a logical cluster are known, or fewer.
func (x *workspaceIndex) count(cluster string, more int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.record(cluster).objects += more
	x.forget(cluster)
}

// forgetLooks forgets up to which resource versions workspaces are known to stay.
func (x *workspaceIndex) forgetLooks() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.known {
		w.bindings = &bindingReader{}
	}
}

// follow takes over who binds the API by now, and returns what was before. Changed reports whether that or the
// endpoints differ, and allowed are the logical clusters whose bindings are shown again, elsewhere, or allow something
// else.
func (x *workspaceIndex) follow(c Consumers) (was Consumers, changed bool, allowed set[string]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, x.consumers, allowed = x.consumers, c, set[string]{}
	for cluster, is := range c.Workspaces {
		w := x.record(cluster)
		if !w.shown || w.Bound != is.Bound || w.Hidden != is.Hidden || w.Endpoint != is.Endpoint {
			allowed[cluster] = struct{}{}
		}
		if w.Endpoint != is.Endpoint {
			w.bindings = &bindingReader{} // Another shard has resource versions of its own.
		}
		is.Path = cmp.Or(is.Path, w.Path)
		w.Workspace, w.shown = is, true
	}
	for cluster, w := range x.known {
		if _, still := c.Workspaces[cluster]; w.shown && !still {
			w.shown, w.Bound, w.Hidden, w.left, w.bindings = false, false, "", time.Now(), &bindingReader{}
			x.forget(cluster)
		}
	}
	return was, !maps.Equal(was.Workspaces, c.Workspaces) || !slices.Equal(was.Endpoints, c.Endpoints), allowed
}
