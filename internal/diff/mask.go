package diff

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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
