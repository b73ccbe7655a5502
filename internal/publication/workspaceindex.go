package publication

import (
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
	// Workspaces are those whose binding to the APIExport an endpoint shows, by their logical clusters.
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

// A workspaceIndex tells who has bound the API, where each logical cluster is, and which are gone. A lock of its owner
// guards it.
//
// That no endpoint shows a workspace does not mean that it is gone: kcp tells of its endpoints one by one, so that a
// whole shard may be missing for a moment. A workspace is gone if the endpoint it was last seen at shows all bindings
// and none of the workspace. Of one that has not been seen since the program started nothing is known, and nobody can
// be asked: endpoints refuse to tell of workspaces without a binding in the same words as of those that do not exist or
// are of another shard.
type workspaceIndex struct {
	consumers Consumers
	homes     map[string]string    // URLs of the endpoints that logical clusters were last seen at
	paths     map[string]string    // of all workspaces that are or have been consumers, by logical cluster
	left      map[string]time.Time // when logical clusters have been shown no more
}

func newWorkspaceIndex() workspaceIndex {
	return workspaceIndex{homes: map[string]string{}, paths: map[string]string{}, left: map[string]time.Time{}}
}

// follow takes over what is known now, and reports whether workspaces or endpoints differ, and whether schemas do.
func (r *workspaceIndex) follow(c Consumers) (changed, renewed bool) {
	was := r.consumers
	r.consumers = c
	for cluster, w := range c.Workspaces {
		r.homes[cluster] = w.Endpoint
		if w.Path != "" {
			r.paths[cluster] = w.Path
		}
		delete(r.left, cluster)
	}
	for cluster := range was.Workspaces {
		if _, still := c.Workspaces[cluster]; !still {
			r.left[cluster] = time.Now()
		}
	}
	changed = !maps.Equal(was.Workspaces, c.Workspaces) || !slices.Equal(was.Endpoints, c.Endpoints)
	return changed, len(was.Schemas) > 0 && len(c.Schemas) > 0 && !slices.Equal(was.Schemas, c.Schemas)
}

// changes returns the logical clusters whose bindings allow something else than before.
func (r *workspaceIndex) changes(c Consumers) []string {
	var out []string
	for cluster, w := range c.Workspaces {
		if was := r.consumers.Workspaces[cluster]; was.Bound != w.Bound || was.Hidden != w.Hidden {
			out = append(out, cluster)
		}
	}
	return out
}

// lacksClaim reports whether a workspace has not accepted the permission claim for a resource.
func (r *workspaceIndex) lacksClaim(cluster, resource string) bool {
	return slices.Contains(strings.Split(r.consumers.Workspaces[cluster].Hidden, ","), resource)
}

// inherit takes over where workspaces are from an earlier workspaceIndex.
func (r *workspaceIndex) inherit(from *workspaceIndex) {
	maps.Copy(r.homes, from.homes)
	maps.Copy(r.paths, from.paths)
	maps.Copy(r.left, from.left)
}

// forget forgets where all workspaces are but those that bind the API and those given.
func (r *workspaceIndex) forget(but set[string]) {
	for _, m := range []map[string]string{r.homes, r.paths} {
		maps.DeleteFunc(m, func(cluster, _ string) bool { return !r.keeps(cluster, but) })
	}
	maps.DeleteFunc(r.left, func(cluster string, _ time.Time) bool { return !r.keeps(cluster, but) })
}

func (r *workspaceIndex) keeps(cluster string, but set[string]) bool {
	_, shown := r.consumers.Workspaces[cluster]
	_, used := but[cluster]
	return shown || used
}

// bound reports whether a workspace has bound the API.
func (r *workspaceIndex) bound(cluster string) bool { return r.consumers.Workspaces[cluster].Bound }

// gone reports whether a workspace is known not to bind the APIExport any more.
func (r *workspaceIndex) gone(cluster string) bool {
	if _, shown := r.consumers.Workspaces[cluster]; shown {
		return false
	}
	home, seen := r.homes[cluster]
	return seen && slices.ContainsFunc(r.consumers.Endpoints,
		func(e Endpoint) bool { return e.Listed && e.URL == home })
}
