package objectsync

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A null in a patch sets a field to null, which a JSON merge patch cannot say: nil there removes the field.
type null struct{}

// diff returns the patch that makes one JSON object of another, nil if they are the same. It is a JSON merge patch but
// for nulls. It shares values with both.
func diff(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for field, want := range to {
		is, has := from[field]
		was, _ := is.(map[string]any)
		inner, _ := want.(map[string]any)
		switch {
		case want == nil && (!has || is != nil):
			patch[field] = null{}
		case inner == nil && !same(is, want):
			patch[field] = want
		case inner == nil:
		case was == nil && len(inner) == 0:
			patch[field] = inner
		default:
			if p := diff(was, inner); p != nil {
				patch[field] = p
			}
		}
	}
	for field := range from {
		if _, ok := to[field]; !ok {
			patch[field] = nil
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}

// needed returns the part of a patch that would change an object, nil if nothing would. It shares values with both.
func needed(patch, object map[string]any) map[string]any {
	is := make(map[string]any, len(patch))
	for field := range patch {
		if v, ok := object[field]; ok {
			is[field] = v
		}
	}
	return diff(is, merged(is, patch))
}

// same reports whether two JSON values are the same to a reader of JSON: 1 is 1.0.
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

// merged returns what a patch makes of an object, which it does not change. A patch that only removes makes no object
// where there was none.
func merged(object, patch map[string]any) map[string]any {
	out := make(map[string]any, len(object)+len(patch))
	maps.Copy(out, object)
	for field, want := range patch {
		is, _ := out[field].(map[string]any)
		switch inner, ok := want.(map[string]any); {
		case want == nil:
			delete(out, field)
		case want == (null{}):
			out[field] = nil
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

// setsNull reports whether a JSON merge patch cannot say a patch: it sets a null, or one in a list, which servers drop.
func setsNull(v any, inList bool) bool {
	switch x := v.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(x)), func(v any) bool { return setsNull(v, inList) })
	case []any:
		return slices.ContainsFunc(x, func(v any) bool { return setsNull(v, true) })
	}
	return inList && v == nil || v == (null{})
}

// patchFor returns a patch as it is sent for an object as it was read: as it is or, if it sets nulls, as a JSON patch
// that replaces all of the object, which is a conflict if that has changed since.
func patchFor(u *unstructured.Unstructured, patch map[string]any) []byte {
	if u == nil || !setsNull(patch, false) {
		return encoded(patch)
	}
	patch = merged(patch, at([]string{"metadata", "resourceVersion"}, u.GetResourceVersion()))
	return encoded([]any{map[string]any{"op": "replace", "path": "", "value": merged(u.Object, patch)}})
}

// PatchType returns the type of a patch for a Writer.
func PatchType(patch []byte) types.PatchType {
	if bytes.HasPrefix(patch, []byte("[")) {
		return types.JSONPatchType
	}
	return types.MergePatchType
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

// specField is the field with the desired state that platforms have fields in.
const specField = "spec"

// platformFields are the fields of an API in which consumers have no say, by their paths.
type platformFields [][]string

func newPlatformFields(paths []string) (out platformFields) {
	for _, path := range paths {
		out = append(out, strings.Split(path, "."))
	}
	return out
}

// without returns an object without the platform's fields of its spec or status, nil for nil. It does not change the
// object.
func (f platformFields) without(field string, u *unstructured.Unstructured) *unstructured.Unstructured {
	for _, path := range f {
		if u != nil && path[0] == field {
			u = &unstructured.Unstructured{Object: removed(u.Object, path)}
		}
	}
	return u
}

// change returns the patch that makes one content of another, as changed does, but takes away no field of
// the platform, and no object with one: a copy keeps what it has there. Others may have made it, and what a consumer
// once could write there may be what the copy lives by.
func (f platformFields) change(from, to map[string]any) map[string]any {
	for _, path := range f {
		for i := 1; i < len(path); i++ {
			_, was := valueAt(from, path[:i])
			if v, is := valueAt(to, path[:i]); v == nil && (was || is) {
				to = merged(to, at(path[:i], map[string]any{}))
			}
		}
		is, ok := valueAt(to, path)
		if !ok {
			from = removed(from, path)
		}
		was, _ := valueAt(from, path)
		for field := range asMap(was) {
			if _, ok := asMap(is)[field]; !ok {
				from = removed(from, append(slices.Clone(path), field))
			}
		}
	}
	return changed(from, to)
}

// removed returns an object without the value at a path. It does not change the object, and returns it as it is if
// there is no such value.
func removed(object map[string]any, path []string) map[string]any {
	if _, ok := valueAt(object, path); !ok {
		return object
	}
	return merged(object, at(path, nil))
}

// at returns an object that has nothing but a value at a path.
func at(path []string, value any) map[string]any {
	for _, step := range slices.Backward(path[1:]) {
		value = map[string]any{step: value}
	}
	return map[string]any{path[0]: value}
}

// valueAt returns the value at a path.
func valueAt(object map[string]any, path []string) (any, bool) {
	v, ok, err := unstructured.NestedFieldNoCopy(object, path...)
	return v, ok && err == nil
}
