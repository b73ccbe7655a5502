package objectsync

import (
	"maps"
	"reflect"
)

// diff returns the JSON merge patch that makes one JSON object of another, nil if they are the same. It shares values
// with both.
func diff(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for field, want := range to {
		if want == nil {
			continue // A merge patch cannot set null; a server drops it.
		}
		is, ok := from[field]
		if ok && same(is, want) {
			continue
		}
		inner, okInner := is.(map[string]any)
		outer, okOuter := want.(map[string]any)
		if !okInner || !okOuter {
			patch[field] = pruned(want)
			continue
		}
		if p := diff(inner, outer); p != nil {
			patch[field] = p
		}
	}
	for field, is := range from {
		if want, ok := to[field]; (!ok || want == nil) && is != nil {
			patch[field] = nil
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// pruned returns a value without the fields of objects that are null, outside of lists. It shares lists with it.
func pruned(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := make(map[string]any, len(m))
	for field, x := range m {
		if x != nil {
			out[field] = pruned(x)
		}
	}
	return out
}

// needed returns the part of a JSON merge patch that would change an object, nil if nothing would. It shares values
// with the patch.
func needed(patch, object map[string]any) map[string]any {
	out := map[string]any{}
	for field, want := range patch {
		is, ok := object[field]
		if want == nil {
			if ok && is != nil {
				out[field] = nil
			}
			continue
		}
		inner, okInner := want.(map[string]any)
		if !okInner {
			if !ok || !same(is, want) {
				out[field] = want
			}
			continue
		}
		object, okObject := is.(map[string]any)
		if p := needed(inner, object); p != nil {
			out[field] = p
		} else if !okObject && (ok || !onlyNulls(inner)) {
			out[field] = want
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// onlyNulls reports whether a patch does nothing but remove.
func onlyNulls(patch map[string]any) bool {
	for _, v := range patch {
		m, ok := v.(map[string]any)
		if v != nil && (!ok || !onlyNulls(m)) {
			return false
		}
	}
	return len(patch) > 0
}

// same reports whether two JSON values are the same to a reader of JSON: 1 is 1.0, and a null field is none.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && covers(x, y) && covers(y, x)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	}
	return reflect.DeepEqual(a, b)
}

// covers reports whether each field of one object has the same value in another.
func covers(a, b map[string]any) bool {
	for field, v := range a {
		if v != nil && !same(v, b[field]) {
			return false
		}
	}
	return true
}

// merged returns what a JSON merge patch makes of an object, which it does not change.
func merged(object, patch map[string]any) map[string]any {
	out := make(map[string]any, len(object)+len(patch))
	maps.Copy(out, object)
	for field, want := range patch {
		inner, ok := want.(map[string]any)
		switch is, _ := out[field].(map[string]any); {
		case want == nil:
			delete(out, field)
		case ok:
			out[field] = merged(is, inner)
		default:
			out[field] = want
		}
	}
	return out
}
