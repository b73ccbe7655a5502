package apply

import (
	"maps"
	"slices"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
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
func (f finder) overlay(live, wanted any, fields *fieldpath.Set) any {
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

func (f finder) overlayMap(live, wanted map[string]any, fields *fieldpath.Set) map[string]any {
	out := maps.Clone(live)
	for k, w := range wanted {
		v := f.overlay(live[k], w, fields.WithPrefix(fieldpath.PathElement{FieldName: &k}))
		if v != nil {
			out[k] = v
		}
	}
	return out
}

func (f finder) overlayList(live, wanted []any, fields *fieldpath.Set) []any {
	names := itemNames(fields)
	switch {
	case len(names) > 0 && names[0].Key != nil:
		return f.overlayKeyed(live, wanted, fields)
	case len(names) > 0 && names[0].Value != nil:
		return union(live, wanted)
	case len(live) != len(wanted):
		return wanted
	}
	out := slices.Clone(live)
	for i, w := range wanted {
		out[i] = f.overlay(live[i], w, fieldpath.NewSet())
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

// overlayKeyed lays the items of a list over those with the same keys. Keys that a wanted item leaves to the server
// match any.
func (f finder) overlayKeyed(live, wanted []any, fields *fieldpath.Set) []any {
	out := slices.Clone(live)
	named := f.named(live, itemNames(fields))
	for _, w := range wanted {
		i := f.position(named.keys, named.partial(w))
		if i < 0 {
			out = append(out, w)
			continue
		}
		at := named.positions[i]
		out[at] = f.overlay(live[at], w, fields.WithPrefix(named.names[i]))
	}
	return out
}

// namedItems are the items of a keyed list that managed fields name: the name of each, its keys as a map, and its
// position in the list.
type namedItems struct {
	names     []fieldpath.PathElement
	keys      []any
	positions []int
}

func (f finder) named(list []any, names []fieldpath.PathElement) namedItems {
	n := namedItems{}
	for _, e := range names {
		i := f.position(list, e)
		if e.Key == nil || i < 0 {
			continue
		}
		keys := make(map[string]any, len(*e.Key))
		for _, k := range *e.Key {
			keys[k.Name] = k.Value.Unstructured()
		}
		n.names, n.keys, n.positions = append(n.names, e), append(n.keys, keys), append(n.positions, i)
	}
	return n
}

// partial returns a path element that selects the items whose keys an item does not contradict. It selects none for
// what is no map.
func (n namedItems) partial(item any) fieldpath.PathElement {
	m, ok := item.(map[string]any)
	if !ok || len(n.names) == 0 {
		return fieldpath.PathElement{}
	}
	keys := value.FieldList{}
	for _, k := range *n.names[0].Key {
		if v, ok := m[k.Name]; ok {
			keys = append(keys, value.Field{Name: k.Name, Value: value.NewValueInterface(v)})
		}
	}
	return fieldpath.PathElement{Key: &keys}
}

// union returns the items of a set with those added that it lacks.
func union(live, wanted []any) []any {
	out, held := slices.Clone(live), map[string]bool{}
	for _, item := range live {
		name, _ := canonical(item)
		held[name] = true
	}
	for _, item := range wanted {
		if name, _ := canonical(item); !held[name] {
			out, held[name] = append(out, item), true
		}
	}
	return out
}
