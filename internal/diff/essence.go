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
	content, _ := prune(u.Object).(map[string]any)
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
		out := make(map[string]any, len(v))
		for k, item := range v {
			if item != nil {
				out[k] = prune(item)
			}
		}
		return out
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = prune(item)
		}
		return list
	}
	return v
}
