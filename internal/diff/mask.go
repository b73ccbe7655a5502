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

// A masker hides the values of Secrets in one of two states of a resource.
type masker struct {
	changed string // stands for a value that the other state has too, but differently
}

// mask returns a copy of a value in which all values of Secrets are hidden. other is the value at the same place in the
// other state, nil if there is none. What either state says is a Secret is one.
func (m masker) mask(v, other any) any {
	switch v := v.(type) {
	case map[string]any:
		o, _ := other.(map[string]any)
		return m.maskMap(v, o)
	case []any:
		o, _ := other.([]any)
		list := make([]any, len(v))
		for i, item := range v {
			var at any
			if i < len(o) {
				at = o[i]
			}
			list[i] = m.mask(item, at)
		}
		return list
	}
	return v
}

func (m masker) maskMap(v, other map[string]any) map[string]any {
	secret := IsSecret(v) || IsSecret(other)
	out := make(map[string]any, len(v))
	for k, item := range v {
		switch {
		case secret && (k == "data" || k == "stringData"):
			out[k] = m.hideEach(item, other[k])
		case k == corev1.LastAppliedConfigAnnotation:
			out[k] = m.hide(item, other[k])
		default:
			out[k] = m.mask(item, other[k])
		}
	}
	return out
}

// hideEach hides the values of a map, or the whole of what should be one.
func (m masker) hideEach(v, other any) any {
	values, ok := v.(map[string]any)
	if !ok {
		return m.hide(v, other)
	}
	o, _ := other.(map[string]any)
	out := make(map[string]any, len(values))
	for k, item := range values {
		out[k] = m.hide(item, o[k])
	}
	return out
}

func (m masker) hide(v, other any) string {
	if other == nil || equality.Semantic.DeepEqual(v, other) {
		return Masked
	}
	return m.changed
}

// IsSecret reports whether the content of a resource is that of a Secret.
func IsSecret(m map[string]any) bool { return m["apiVersion"] == "v1" && m["kind"] == "Secret" }
