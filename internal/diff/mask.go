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

// hiding says what of a value is hidden: nothing but the Secrets in it, the values of the map that it is, or all of it.
type hiding int

const (
	hideNone hiding = iota
	hideEach
	hideAll
)

// mask returns a copy of a value in which all values of Secrets are hidden. other is the value at the same place in the
// other of two states, nil if there is none, and changed stands for a value that differs there. What either state says
// is a Secret is one.
func mask(v, other any, changed string, h hiding) any {
	values, isMap := v.(map[string]any)
	items, isList := v.([]any)
	switch {
	case h == hideNone && isList:
		o, _ := other.([]any)
		list := make([]any, len(items))
		for i, item := range items {
			var at any
			if i < len(o) {
				at = o[i]
			}
			list[i] = mask(item, at, changed, hideNone)
		}
		return list
	case h != hideAll && isMap:
		o, _ := other.(map[string]any)
		out := make(map[string]any, len(values))
		for k, item := range values {
			below := hideNone
			switch {
			case h == hideEach, k == corev1.LastAppliedConfigAnnotation:
				below = hideAll
			case (IsSecret(values) || IsSecret(o)) && (k == "data" || k == "stringData"):
				below = hideEach
			}
			out[k] = mask(item, o[k], changed, below)
		}
		return out
	case h == hideNone:
		return v
	case other == nil || equality.Semantic.DeepEqual(v, other):
		return Masked
	}
	return changed
}

// IsSecret reports whether the content of a resource is that of a Secret.
func IsSecret(m map[string]any) bool { return m["apiVersion"] == "v1" && m["kind"] == "Secret" }
