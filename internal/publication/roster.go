package publication

import (
	"maps"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

// Consumers are who has bound an API, and where they are reached.
type Consumers struct {
	// Endpoints are those of the APIExport, in one order.
	Endpoints []Endpoint
	// Workspaces are those of which an endpoint shows a binding to the APIExport, by their logical clusters.
	Workspaces map[string]Workspace
	// Schemas are the names of those by which the workspaces know the API and what is related to it.
	Schemas []string
}

// An Endpoint is a virtual workspace of an APIExport: all workspaces of a shard.
type Endpoint struct {
	URL     string
	Cluster *target.Cluster
	// Listed says whether it shows all bindings it has.
	Listed bool
}

// A Workspace is one with a binding to an APIExport.
type Workspace struct {
	// Path is that of the workspace, empty if it is not known, and Endpoint the URL of the endpoint that shows it.
	Path, Endpoint string
	// Bound says whether it can use the API.
	Bound bool
}

// A roster tells who has bound the API, where each logical cluster is, and which are gone. A lock of its owner guards it.
//
// That no endpoint shows a workspace does not mean that it is gone: kcp tells of its endpoints one by one, so that a whole shard may be
// missing for a moment. A workspace is gone if the endpoint it was last seen at shows all bindings and none of the workspace. Of one that has
// not been seen since the program started nothing is known, and nobody can be asked: endpoints refuse to tell of workspaces without a binding
// in the same words as of those that do not exist or are of another shard.
type roster struct {
	consumers Consumers
	homes     map[string]string    // URLs of the endpoints that logical clusters were last seen at
	missed    map[string]time.Time // since when logical clusters that have been seen are not shown by their endpoints
	paths     map[string]string    // of all workspaces that have ever been consumers, by logical cluster
}

func newRoster() roster {
	return roster{homes: map[string]string{}, missed: map[string]time.Time{}, paths: map[string]string{}}
}

// A news is what differs from what was known before.
type news struct {
	who     bool // workspaces or endpoints
	schemas bool
	missed  bool // some workspace is not shown any more
}

// follow takes over what is known now.
func (r *roster) follow(c Consumers) news {
	was := r.consumers
	r.consumers = c
	for cluster, w := range c.Workspaces {
		r.homes[cluster] = w.Endpoint
		if w.Path != "" {
			r.paths[cluster] = w.Path
		}
	}
	return news{
		who:     !maps.Equal(was.Workspaces, c.Workspaces) || !slices.Equal(was.Endpoints, c.Endpoints),
		schemas: len(was.Schemas) > 0 && len(c.Schemas) > 0 && !slices.Equal(was.Schemas, c.Schemas),
		missed:  r.note(),
	}
}

// inherit takes over where workspaces are from an earlier roster.
func (r *roster) inherit(from *roster) {
	maps.Copy(r.homes, from.homes)
	maps.Copy(r.missed, from.missed)
	maps.Copy(r.paths, from.paths)
}

// bound says whether a workspace has bound the API.
func (r *roster) bound(cluster string) bool { return r.consumers.Workspaces[cluster].Bound }

// goneAfter is for how long an endpoint has to show a workspace no more: one that has just started shows a part at first.
const goneAfter = 5 * time.Second

// gone says whether a workspace is known not to bind the APIExport any more.
func (r *roster) gone(cluster string) bool {
	since, missed := r.missed[cluster]
	return missed && time.Since(since) >= goneAfter
}

// misses says whether the endpoint that a workspace was last seen at shows all it has and not the workspace.
func (r *roster) misses(cluster string) bool {
	if _, shown := r.consumers.Workspaces[cluster]; shown {
		return false
	}
	return slices.ContainsFunc(r.consumers.Endpoints, func(e Endpoint) bool { return e.Listed && e.URL == r.homes[cluster] })
}

// note notes which workspaces are not shown, and says whether there are more than before.
func (r *roster) note() (more bool) {
	for cluster := range r.homes {
		_, was := r.missed[cluster]
		switch is := r.misses(cluster); {
		case is && !was:
			r.missed[cluster] = time.Now()
			more = true
		case !is:
			delete(r.missed, cluster)
		}
	}
	return more
}
