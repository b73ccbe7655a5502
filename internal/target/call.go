package target

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// paths say where the API begins in the paths of requests.
type paths struct {
	base     string // what comes before the API, or before the logical cluster
	wildcard bool   // a logical cluster comes next
}

// A call is what a request asks an API server for, as its URL says.
type call struct {
	lane      string // the logical cluster that is asked, empty if the server has none
	watch     bool
	one       bool // it asks for at most one object
	resource  bool // it is about resources, and not about what is served
	document  bool // it asks for a document that is no Kubernetes object, such as the version
	namespace string
	plural    string // of the resource
	name      string // empty for a list
}

// call parses a request.
func (p paths) call(req *http.Request) call {
	c := call{watch: isWatch(req), one: true}
	path := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, strings.TrimSuffix(p.base, "/")), "/")
	if p.wildcard {
		c.lane, path, _ = strings.Cut(path, "/")
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		c.document = parts[0] != "api" && parts[0] != "apis"
		return c
	}
	c.resource = true
	if parts[0] == "namespaces" && len(parts) > 2 {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.plural = parts[0]
	if len(parts) > 1 {
		c.name = parts[1]
	}
	c.one = c.name != "" || req.Method != http.MethodGet ||
		strings.Contains(req.URL.RawQuery, "fieldSelector=metadata.name%3D")
	return c
}

// names reports whether a name is that of the object, or of the namespace, that the call is about.
func (c call) names(name string) bool {
	return name != "" && slices.Contains([]string{c.namespace, c.name}, name)
}

// lacksWorkspace reports whether a 404 is about the workspace of the call, and not about its object. kcp answers so for
// every workspace just after a start.
func (c call) lacksWorkspace(missing *metav1.StatusDetails) bool {
	return missing != nil && slices.Contains([]string{"workspaces", "logicalclusters"}, missing.Kind) &&
		(missing.Kind != c.plural || missing.Name != c.name)
}

// isWatch reports whether a request asks for a stream of events.
func isWatch(req *http.Request) bool {
	if !strings.Contains(req.URL.RawQuery, "watch=") {
		return false
	}
	v := req.URL.Query().Get("watch")
	return v == "true" || v == "1"
}
