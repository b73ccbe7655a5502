package objectsync

import (
	"maps"
	"reflect"
	"slices"
)

// diff returns the JSON merge patch that makes one JSON object of another, nil if they are the same. It shares values
// with both.
func diff(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for field, want := range to {
		if want == nil {
			continue // A merge patch cannot set null; a server drops it.
		}
		is, _ := from[field].(map[string]any)
		inner, _ := want.(map[string]any)
		if is == nil || inner == nil {
			if !same(from[field], want) {
				patch[field] = pruned(want)
			}
		} else if p := diff(is, inner); p != nil {
			patch[field] = p
		}
	}
	for field, is := range from {
		if is != nil && to[field] == nil {
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
// with both.
func needed(patch, object map[string]any) map[string]any {
	is := make(map[string]any, len(patch))
	for field := range patch {
		is[field] = object[field]
	}
	return diff(is, merged(is, patch))
}

// same reports whether two JSON values are the same to a reader of JSON: 1 is 1.0, and a null field is none.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && diff(x, y) == nil
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, same)
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

// merged returns what a JSON merge patch makes of an object, which it does not change. A patch that only removes makes
// no object where there was none.
func merged(object, patch map[string]any) map[string]any {
	out := make(map[string]any, len(object)+len(patch))
	maps.Copy(out, object)
	for field, want := range patch {
		is, _ := out[field].(map[string]any)
		switch inner, ok := want.(map[string]any); {
		case want == nil:
			delete(out, field)
		case !ok:
			out[field] = want
		case out[field] != nil || len(inner) == 0:
			out[field] = merged(is, inner)
		default:
			if next := merged(nil, inner); len(next) > 0 {
				out[field] = next
			}
		}
	}
	return out
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func fromTexts(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
