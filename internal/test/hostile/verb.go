package hostile

import (
	"net/http"
	"slices"
	"strings"
)

// A Verb is a kind of request.
type Verb string

// All verbs. Probe is a request for the version of the server, by which clients find out whether it is there.
const (
	Probe     Verb = "Probe"
	Discovery Verb = "Discovery"
	Get       Verb = "Get"
	List      Verb = "List"
	Watch     Verb = "Watch"
	Create    Verb = "Create"
	Update    Verb = "Update"
	Patch     Verb = "Patch"
	Delete    Verb = "Delete"
)

func allVerbs() []Verb {
	return []Verb{Probe, Discovery, Get, List, Watch, Create, Update, Patch, Delete}
}

// verbOf returns the verb of a request.
func verbOf(r *http.Request) Verb {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if path[0] == "clusters" {
		path = path[min(2, len(path)):] // A workspace of kcp.
	}
	if slices.Equal(path, []string{"version"}) {
		return Probe
	}
	resource := resourceOf(path)
	if len(resource) == 0 {
		return Discovery
	}
	switch r.Method {
	case http.MethodPost:
		return Create
	case http.MethodPut:
		return Update
	case http.MethodPatch:
		return Patch
	case http.MethodDelete:
		return Delete
	}
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		return List
	case query.Get("watch") == "true":
		return Watch
	case len(resource) > 1:
		return Get
	}
	return List
}

// resourceOf returns what follows the API version and the namespace in a path: a resource, a name, a subresource. It is
// empty if the path names no resource.
func resourceOf(path []string) []string {
	version := 3 // apis, group, version
	switch path[0] {
	case "api":
		version = 2
	case "apis":
	default:
		return nil
	}
	rest := path[min(version, len(path)):]
	if len(rest) > 2 && rest[0] == "namespaces" {
		return rest[2:]
	}
	return rest
}
