package apply

import (
	"encoding/base64"
	"maps"
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Overlay returns the live resource with the fields of a manifest laid over it: what Apply would make of it, as far as that can be told
// without asking. It knows neither defaults of the server nor fields that an apply would remove, and it takes each list of which no
// item has a manager of its own for one that is replaced as a whole. live is nil if there is no resource. The result shares nothing with
// the arguments.
func Overlay(live, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted := manifest.DeepCopy()
	encodeStringData(wanted)
	if live == nil {
		return wanted, nil
	}
	fields := fieldpath.NewSet()
	for _, e := range live.GetManagedFields() {
		if e.FieldsV1 == nil {
			continue
		}
		s := &fieldpath.Set{}
		if err := s.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, errors.Wrapf(err, "cannot read the fields of manager %q", e.Manager)
		}
		fields = fields.Union(s)
	}
	out := live.DeepCopy()
	out.Object = overlayMap(out.Object, wanted.Object, fields)
	return out, nil
}

// encodeStringData does to a Secret what a server does: stringData becomes data. What is no text is left for the server to refuse.
func encodeStringData(u *unstructured.Unstructured) {
	if u.GetAPIVersion() != "v1" || u.GetKind() != "Secret" {
		return
	}
	plain, ok := u.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(u.Object, "stringData")
	data, _ := u.Object["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range plain {
		data[k] = v
		if text, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	u.Object["data"] = data
}

// overlay returns a live value with a wanted one laid over it. fields are the fields below it that have managers.
func overlay(live, wanted any, fields *fieldpath.Set) any {
	switch w := wanted.(type) {
	case nil:
		return live
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			return overlayMap(l, w, fields)
		}
		if live == nil && len(w) == 0 {
			return nil // Servers tell no empty map from none.
		}
	case []any:
		if l, ok := live.([]any); ok {
			return overlayList(l, w, fields)
		}
		if live == nil && len(w) == 0 {
			return nil
		}
	}
	return wanted
}

func overlayMap(live, wanted map[string]any, fields *fieldpath.Set) map[string]any {
	out := maps.Clone(live)
	for k, w := range wanted {
		v := overlay(live[k], w, fields.WithPrefix(fieldpath.PathElement{FieldName: &k}))
		if v != nil {
			out[k] = v
		}
	}
	return out
}

func overlayList(live, wanted []any, fields *fieldpath.Set) []any {
	names := itemNames(fields)
	switch {
	case len(names) > 0 && names[0].Key != nil:
		return overlayKeyed(live, wanted, fields)
	case len(names) > 0 && names[0].Value != nil:
		return union(live, wanted)
	case len(live) != len(wanted):
		return wanted
	}
	out := slices.Clone(live)
	for i, w := range wanted {
		out[i] = overlay(live[i], w, fieldpath.NewSet())
	}
	return out
}

// itemNames returns how the items of a list are named that have managers of their own.
func itemNames(fields *fieldpath.Set) []fieldpath.PathElement {
	var names []fieldpath.PathElement
	fields.Members.Iterate(func(e fieldpath.PathElement) { names = append(names, e) })
	fields.Children.Iterate(func(e fieldpath.PathElement) { names = append(names, e) })
	return names
}

// overlayKeyed lays the items of a list over those with the same keys. Keys that a wanted item leaves to the server match any.
func overlayKeyed(live, wanted []any, fields *fieldpath.Set) []any {
	out := slices.Clone(live)
	for _, w := range wanted {
		e, i := find(live, w, itemNames(fields))
		if i < 0 {
			out = append(out, w)
			continue
		}
		out[i] = overlay(live[i], w, fields.WithPrefix(e))
	}
	return out
}

// find returns the name and the index of the item of a list that another item stands for. The index is -1 if there is none.
func find(list []any, item any, names []fieldpath.PathElement) (fieldpath.PathElement, int) {
	m, ok := item.(map[string]any)
	if !ok {
		return fieldpath.PathElement{}, -1
	}
	for _, e := range names {
		if e.Key == nil || !agrees(m, *e.Key) {
			continue
		}
		if i := slices.IndexFunc(list, func(l any) bool { return selects(e, l) }); i >= 0 {
			return e, i
		}
	}
	return fieldpath.PathElement{}, -1
}

// agrees says whether an item has none of some keys with another value.
func agrees(item map[string]any, keys value.FieldList) bool {
	return !slices.ContainsFunc(keys, func(k value.Field) bool {
		v, ok := item[k.Name]
		return ok && !value.Equals(value.NewValueInterface(v), k.Value)
	})
}

// union returns the items of a set with those added that it lacks.
func union(live, wanted []any) []any {
	out := slices.Clone(live)
	for _, w := range wanted {
		e := fieldpath.PathElement{Value: new(value.NewValueInterface(w))}
		if !slices.ContainsFunc(out, func(l any) bool { return selects(e, l) }) {
			out = append(out, w)
		}
	}
	return out
}
