package diff

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// serverFields are the fields of metadata that only a server sets.
var serverFields = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "selfLink", "uid",
}

// Essence returns what an apply of a manifest can change of a resource: all but its status, if the manifest has none,
// the metadata that the server alone decides and our label. It shares nothing with the resource. It is nil if the
// resource is.
func Essence(u, manifest *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	content := pruneMap(u.Object)
	if manifest.Object["status"] == nil {
		delete(content, "status")
	}
	m, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	for _, f := range serverFields {
		delete(m, f)
	}
	if labels, ok := m["labels"].(map[string]any); ok {
		delete(labels, commonv1.LabelKeyManaged)
		if len(labels) == 0 {
			delete(m, "labels")
		}
	}
	return content
}

// prune returns a copy of a JSON value without the fields that are null.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return pruneMap(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = prune(item)
		}
		return list
	}
	return v
}

func pruneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if v != nil {
			out[k] = prune(v)
		}
	}
	return out
}
