package objectsync

import (
	"maps"
	"slices"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/kcp-dev/logicalcluster/v3"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
)

// Namespaces is the resource of namespaces, on both sides.
var Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// A namespaceTemplate makes namespaces.
type namespaceTemplate struct {
	labels, annotations map[string]*gotemplate.Template
	creator             string // whose name they carry because they go when they are empty; none if empty
}

func newNamespaceTemplate(c *v1alpha1.CreatedNamespaces, agent string) (namespaceTemplate, error) {
	if c == nil {
		return namespaceTemplate{}, nil
	}
	l, err := parseValues(c.Labels)
	if err != nil {
		return namespaceTemplate{}, errors.Wrap(err, "spec.createdNamespaces.labels")
	}
	a, err := parseValues(c.Annotations)
	t := namespaceTemplate{labels: l, annotations: a}
	if c.WhenEmpty == xpv2.DeletionDelete {
		t.creator = agent
	}
	return t, errors.Wrap(err, "spec.createdNamespaces.annotations")
}

func parseValues(m map[string]string) (map[string]*gotemplate.Template, error) {
	out := map[string]*gotemplate.Template{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		t, err := gotemplate.Parse(m[key])
		if err != nil {
			return nil, errors.Wrapf(err, "%q", key)
		}
		out[key] = t
	}
	return out, nil
}

// make returns a namespace for copies of the objects of a workspace.
func (t namespaceTemplate) make(name, cluster, path string) (*unstructured.Unstructured, error) {
	data := map[string]any{"ClusterName": cluster, "ClusterPath": logicalcluster.NewPath(path)}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	u.SetName(name)
	l, err := renderValues(t.labels, data)
	if err != nil {
		return nil, err
	}
	if t.creator != "" {
		l[LabelCreatedFor] = t.creator
	}
	u.SetLabels(l)
	a, err := renderValues(t.annotations, data)
	u.SetAnnotations(a)
	return u, err
}

func renderValues(m map[string]*gotemplate.Template, data map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for key, t := range m {
		v, err := t.Render(data)
		if err != nil {
			return nil, errors.Wrapf(err, "cannot make %q of a namespace", key)
		}
		out[key] = v
	}
	return out, nil
}
