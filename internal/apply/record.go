package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Hash returns the hexadecimal SHA-256 of the JSON of a value, of the content of a manifest, say. The order of map keys
// does not matter.
func Hash(v any) string {
	sum := sha256.Sum256(encode(v))
	return hex.EncodeToString(sum[:])
}

// encode returns the JSON of a value that comes from JSON.
func encode(v any) []byte {
	b, _ := json.Marshal(v) //nolint:errchkjson // What comes from JSON can be encoded.
	return b
}

// HashOwned returns the hexadecimal SHA-256 of the fields of a resource that a manager has applied, with their values.
// It is empty if the manager has applied none. Of a map or list that the manifest gives as empty only the presence
// counts, as others may fill it.
func HashOwned(u, manifest *unstructured.Unstructured, manager string) (string, error) {
	set, err := owned(u, manager)
	if err != nil || set.Empty() {
		return "", err
	}
	h, f := sha256.New(), newFinder()
	set.Iterate(func(p fieldpath.Path) {
		v, held := f.find(u.Object, p)
		desired, given := f.find(manifest.Object, p)
		below := set
		for _, e := range p {
			below = below.WithPrefix(e)
		}
		// The parts of it that we own have paths of their own.
		if parts := !below.Empty() || p[len(p)-1].Key != nil; held && (parts || given && isEmpty(desired)) {
			v = true
		}
		sum := sha256.Sum256(append([]byte(p.String()+"="), encode(v)...))
		_, _ = h.Write(sum[:]) // It never fails.
	})
	return hex.EncodeToString(h.Sum(nil)), nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// identifying are the fields of a manifest that say which resource it is about. Nobody owns them.
var identifying = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"),
)

// Current reports whether a resource is as an apply of a manifest leaves it: it has the fields of the manifest, and the
// manager owns these and no others. It is for manifests without lists. It needs no record, which for a Secret would
// tell of its content.
func Current(live, manifest *unstructured.Unstructured, manager string) (bool, error) {
	held, err := owned(live, manager)
	if err != nil {
		return false, err
	}
	wanted := fieldpath.SetFromValue(value.NewValueInterface(manifest.Object)).Difference(identifying)
	same, f := held.Leaves().Equals(wanted), newFinder()
	wanted.Iterate(func(p fieldpath.Path) {
		want, _ := f.find(manifest.Object, p)
		got, ok := f.find(live.Object, p)
		same = same && ok && equality.Semantic.DeepEqual(want, got)
	})
	return same, nil
}

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
