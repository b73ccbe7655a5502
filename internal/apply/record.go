package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// HashManifest returns the hexadecimal SHA-256 of a manifest. The order of map keys does not matter.
func HashManifest(manifest *unstructured.Unstructured) (string, error) {
	b, err := json.Marshal(manifest.Object)
	if err != nil {
		return "", errors.Wrap(err, "cannot encode manifest")
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// HashOwned returns the hexadecimal SHA-256 of the fields of a resource that a manager has applied, with their values. It is empty if
// the manager has applied none. Of a map or list that the manifest gives as empty only the presence counts, as others may fill it.
func HashOwned(u, manifest *unstructured.Unstructured, manager string) (string, error) {
	set, err := owned(u.GetManagedFields(), manager)
	if err != nil || set.Empty() {
		return "", err
	}
	h := sha256.New()
	var failed error
	set.Iterate(func(p fieldpath.Path) {
		if failed == nil {
			failed = hashField(h, p, field(u, manifest, set, p))
		}
	})
	if failed != nil {
		return "", failed
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// field returns what counts of the field at a path: its value, or true if only its presence does, or nil if it is not there.
func field(u, manifest *unstructured.Unstructured, set *fieldpath.Set, p fieldpath.Path) any {
	v, ok := lookup(u.Object, p)
	if !ok {
		return nil
	}
	for _, e := range p {
		set = set.WithPrefix(e)
	}
	if !set.Empty() || p[len(p)-1].Key != nil {
		return true // The parts of it that we own have paths of their own.
	}
	if desired, ok := lookup(manifest.Object, p); ok && isEmpty(desired) {
		return true
	}
	return v
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

// owned returns the fields a manager has applied to the resource itself.
func owned(entries []metav1.ManagedFieldsEntry, manager string) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, e := range entries {
		if e.Manager != manager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		s := &fieldpath.Set{}
		if err := s.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, errors.Wrapf(err, "cannot read the fields of manager %q", manager)
		}
		all = all.Union(s)
	}
	return all, nil
}

func hashField(h hash.Hash, p fieldpath.Path, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return errors.Wrapf(err, "cannot encode field %s", p)
	}
	sum := sha256.Sum256(append([]byte(p.String()+"="), b...))
	_, err = h.Write(sum[:])
	return errors.Wrap(err, "cannot hash a field")
}

// lookup returns the value at a path, and whether there is one.
func lookup(v any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		var ok bool
		if v, ok = step(v, e); !ok {
			return nil, false
		}
	}
	return v, true
}

func step(v any, e fieldpath.PathElement) (any, bool) {
	if e.FieldName != nil {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		v, ok = m[*e.FieldName]
		return v, ok
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	if e.Index != nil {
		if *e.Index < 0 || *e.Index >= len(list) {
			return nil, false
		}
		return list[*e.Index], true
	}
	for _, item := range list {
		if selects(e, item) {
			return item, true
		}
	}
	return nil, false
}

func selects(e fieldpath.PathElement, item any) bool {
	if e.Value != nil {
		return value.Equals(value.NewValueInterface(item), *e.Value)
	}
	m, ok := item.(map[string]any)
	if !ok || e.Key == nil {
		return false
	}
	for _, k := range *e.Key {
		v, ok := m[k.Name]
		if !ok || !value.Equals(value.NewValueInterface(v), k.Value) {
			return false
		}
	}
	return true
}
