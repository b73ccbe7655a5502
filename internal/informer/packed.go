package informer

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// packed returns a resource with its managed fields as text: as maps they take more memory than all the rest of a small
// one. What is no list goes, as only a server that lies shows it. What is given does not change.
func packed(u *unstructured.Unstructured) *unstructured.Unstructured {
	fields, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	list, ok := fields.([]any)
	switch {
	case !found:
		return u
	case !ok:
		return withManagedFields(u, nil)
	}
	text, _ := json.Marshal(list) //nolint:errchkjson // It has been read from JSON.
	return withManagedFields(u, string(text))
}

// unpacked returns a packed resource as the server shows it, nil for nothing. What is given does not change.
func unpacked(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	fields, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	text, ok := fields.(string)
	if !ok {
		return u
	}
	var list []any
	_ = utiljson.Unmarshal([]byte(text), &list) // It is ours.
	return withManagedFields(u, list)
}

func allUnpacked(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	for i, u := range all {
		all[i] = unpacked(u)
	}
	return all
}

// withManagedFields returns a copy of a resource that has metadata, with other managed fields.
func withManagedFields(u *unstructured.Unstructured, fields any) *unstructured.Unstructured {
	metadata, _ := u.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["managedFields"] = fields
	u = &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	u.Object["metadata"] = metadata
	return u
}
