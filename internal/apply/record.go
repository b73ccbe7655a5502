package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

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
// It is empty if the manager has applied none. Of a map or list that the manifest gives as empty, and of what is left
// to others, only the presence counts.
func HashOwned(u, manifest *unstructured.Unstructured, manager string, ignored Ignored) (string, error) {
	set, err := owned(u, manager)
	if err != nil {
		return "", err
	}
	left, err := ignored.payload(u, manifest, manager)
	if err != nil {
		return "", err
	}
	set = set.Difference(left.fields)
	if set.Empty() && len(left.seen) == 0 {
		return "", nil
	}
	h, f := sha256.New(), newFinder()
	set.Iterate(func(p fieldpath.Path) {
		v, held := f.find(u.Object, p)
		desired, given := f.find(manifest.Object, p)
		// The parts of it that we own have paths of their own.
		parts := !below(set, p).Empty() || !below(left.fields, p).Empty() || p[len(p)-1].Key != nil
		if held && (parts || given && isEmpty(desired)) {
			v = true
		}
		sum := sha256.Sum256(append([]byte(p.String()+"="), encode(v)...))
		_, _ = h.Write(sum[:]) // It never fails.
	})
	if len(left.seen) > 0 {
		_, _ = h.Write(encode(left.seen))
	}
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
