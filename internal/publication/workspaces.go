package publication

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// passMax bounds one sync of one object, and one look at a namespace: a little more than the 30 s that servers give a
	// webhook at most.
	passMax = 35 * time.Second
	// Of the objects of a workspace that have failed retryRate are tried again in a second, and retryBurst at once.
	retryRate, retryBurst = 1, 50
)

// A Config is what is to be served.
type Config struct {
	Consumers

	// Revision differs whenever anything else does but the consumers.
	Revision string
	Sync     objectsync.Config
	Service  *clusters.Cluster
	// RemoveFinalizers has finalizers taken off the objects of consumers, and nothing synced.
	RemoveFinalizers bool

	shared *shared // by all publications of the service cluster
}

// Consumers are who has bound an API, and where they are reached.
type Consumers struct {
	// Endpoints are those of the APIExport, in one order. Untold reports whether kcp does not tell of them.
	Endpoints []Endpoint
	Untold    bool
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
	// Hidden are the resources whose permission claims it has not accepted, and Whole those of which it shows all that it
	// has, as resource.group, sorted and separated by commas.
	Hidden, Whole string
}

// A workspace is what is known of a logical cluster as long as its binding is shown or anything of it is left.
// That no endpoint shows it does not mean that it is gone: a shard may be missing for a moment, and so is a workspace
// that moves to another one.
type workspace struct {
	// Workspace is what its binding says. Endpoint is what it was when it was last seen.
	Workspace

	shown   bool
	objects int           // how many of its objects, copies and states are known
	retries *rate.Limiter // of those that have failed
}

// showsAll reports whether it shows all that it has of a resource.
func (w workspace) showsAll(r schema.GroupResource) bool {
	return slices.Contains(strings.Split(w.Whole, ","), r.String())
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
		x.known[cluster] = &workspace{retries: rate.NewLimiter(retryRate, retryBurst)}
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
	if w := x.known[cluster]; w != nil {
		return *w
	}
	return workspace{}
}

// endpoints returns those that kcp names, and reports whether it tells of them.
func (x *workspaceIndex) endpoints() (all []Endpoint, told bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.consumers.Endpoints, !x.consumers.Untold
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

// follow takes over who binds the API by now, and returns what was before. Changed reports whether that or the
// endpoints differ, and allowed are the logical clusters whose bindings are shown again, elsewhere, or allow something
// else.
func (x *workspaceIndex) follow(c Consumers) (was Consumers, changed bool, allowed set[string]) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, x.consumers, allowed = x.consumers, c, set[string]{}
	for cluster, is := range c.Workspaces {
		w := x.record(cluster)
		is.Path = cmp.Or(is.Path, w.Path)
		if !w.shown || w.Workspace != is {
			allowed[cluster] = struct{}{}
		}
		w.Workspace, w.shown = is, true
	}
	for cluster, w := range x.known {
		if _, still := c.Workspaces[cluster]; w.shown && !still {
			w.shown, w.Bound, w.Hidden, w.Whole = false, false, "", ""
			x.forget(cluster)
		}
	}
	return was, !maps.Equal(was.Workspaces, c.Workspaces) || !slices.Equal(was.Endpoints, c.Endpoints), allowed
}
