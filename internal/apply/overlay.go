package apply

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Overlay returns the live resource with the fields of a manifest laid over it: what Apply would make of it, as far as
// that can be told without asking. It knows neither defaults of the server nor fields that an apply would remove, and
// it takes each list for one that is replaced as a whole if no item of it has a manager of its own. live is nil if
// there is no resource. The result shares nothing with the arguments.
func Overlay(live, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted := manifest.DeepCopy()
	if live == nil {
		return wanted, nil
	}
	fields, err := fieldsOf(live.GetManagedFields()...)
	if err != nil {
		return nil, err
	}
	out := live.DeepCopy()
	out.Object = newFinder().overlayMap(out.Object, wanted.Object, fields)
	return out, nil
}

// Shows reports whether a resource has all fields of a manifest, as far as that can be told without asking. It is for a
// resource that has lost its managed fields: who owns a field is not looked at.
func Shows(live, manifest *unstructured.Unstructured) (bool, error) {
	u, err := Overlay(live, manifest)
	return err == nil && equality.Semantic.DeepEqual(u.Object, live.Object), err
}

// overlay returns a live value with a wanted one laid over it. fields are the fields below it that have managers.
func (f *finder) overlay(live, wanted any, fields *fieldpath.Set) any {
	switch w := wanted.(type) {
	case nil:
		return live
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			return f.overlayMap(l, w, fields)
		}
		if live == nil && len(w) == 0 {
			return nil // Servers tell no empty map from none.
		}
	case []any:
		if l, ok := live.([]any); ok {
			return f.overlayList(l, w, fields)
		}
		if live == nil && len(w) == 0 {
			return nil
		}
	}
	return wanted
}

func (f *finder) overlayMap(live, wanted map[string]any, fields *fieldpath.Set) map[string]any {
	out := maps.Clone(live)
	for k, w := range wanted {
		v := f.overlay(live[k], w, fields.WithPrefix(fieldpath.PathElement{FieldName: &k}))
		if v != nil {
			out[k] = v
		}
	}
	return out
}

// overlayList lays the items of a list over those of the same name, if items have managers of their own. Keys that a
// wanted item leaves to the server match any.
func (f *finder) overlayList(live, wanted []any, fields *fieldpath.Set) []any {
	var name fieldpath.PathElement
	fields.Members.Iterate(func(e fieldpath.PathElement) { name = e })
	fields.Children.Iterate(func(e fieldpath.PathElement) { name = e })
	named := name.Key != nil || name.Value != nil
	if !named && len(live) != len(wanted) {
		return wanted
	}
	out := slices.Clone(live)
	for i, w := range wanted {
		below := fieldpath.NewSet()
		if named {
			e, whole := elementOf(w, name)
			if i = f.position(live, e); !whole {
				i = similar(live, e)
			}
			if i < 0 {
				out = append(out, w)
				continue
			}
			e, _ = elementOf(live[i], name)
			below = fields.WithPrefix(e)
		}
		out[i] = f.overlay(live[i], w, below)
	}
	return out
}
