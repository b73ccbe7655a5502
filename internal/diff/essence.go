package diff

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
)

// Masks stand for values of Secrets, as they do in kubectl diff.
const (
	// Masked stands for a value that is new, or does not change.
	Masked = "***"
	// MaskedAfter stands for a value that takes the place of another one.
	MaskedAfter = "*** (after)"
)

// mask returns a copy of a value in which all values of Secrets are hidden. other is the value at the same place in the
// other of two states, nil if there is none, and changed stands for a value that differs there. What either state says
// is a Secret is one.
func mask(v, other any, changed string) any {
	switch v := v.(type) {
	case []any:
		o, _ := other.([]any)
		list := make([]any, len(v))
		for i, item := range v {
			var at any
			if i < len(o) {
				at = o[i]
			}
			list[i] = mask(item, at, changed)
		}
		return list
	case map[string]any:
		o, _ := other.(map[string]any)
		secret := IsSecret(v) || IsSecret(o)
		out := make(map[string]any, len(v))
		for k, item := range v {
			switch {
			case k == corev1.LastAppliedConfigAnnotation:
				out[k] = hide(item, o[k], changed)
			case secret && (k == "data" || k == "stringData"):
				out[k] = hideEach(item, o[k], changed)
			default:
				out[k] = mask(item, o[k], changed)
			}
		}
		return out
	}
	return v
}

// hideEach hides the values of a map, or all of what is none.
func hideEach(v, other any, changed string) any {
	values, isMap := v.(map[string]any)
	if !isMap {
		return hide(v, other, changed)
	}
	o, _ := other.(map[string]any)
	out := make(map[string]any, len(values))
	for k, item := range values {
		out[k] = hide(item, o[k], changed)
	}
	return out
}

func hide(v, other any, changed string) any {
	if other == nil || equality.Semantic.DeepEqual(v, other) {
		return Masked
	}
	return changed
}

// IsSecret reports whether the content of a resource is that of a Secret.
func IsSecret(m map[string]any) bool { return m["apiVersion"] == "v1" && m["kind"] == "Secret" }

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
