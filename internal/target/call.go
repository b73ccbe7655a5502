package target

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A call is what a request asks an API server for, as its URL says.
type call struct {
	watch     bool
	resource  bool // it is about resources, and not about what is served
	document  bool // it asks for a document that is no Kubernetes object, such as the version
	namespace string
	plural    string // of the resource
	name      string // empty for a list
}

// callOf parses a request. base is what comes before the API in the path, and up to the logical cluster if wildcard is
// set.
func callOf(req *http.Request, base string, wildcard bool) call {
	c := call{watch: isWatch(req)}
	path := strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, strings.TrimSuffix(base, "/")), "/")
	if wildcard {
		_, path, _ = strings.Cut(path, "/")
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

// one reports whether a request asks for at most one object.
func (c call) one(req *http.Request) bool {
	return !c.resource || c.name != "" || req.Method != http.MethodGet ||
		strings.Contains(req.URL.RawQuery, "fieldSelector=metadata.name%3D")
}
