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

// HashOwned returns the hexadecimal SHA-256 of the fields of a resource that a manager has applied, with their values.
// It is empty if the manager has applied none. Of a map or list that the manifest gives as empty only the presence
// counts, as others may fill it.
func HashOwned(u, manifest *unstructured.Unstructured, manager string) (string, error) {
	set, err := owned(u.GetManagedFields(), manager)
	if err != nil || set.Empty() {
		return "", err
	}
	h, fields := sha256.New(), ownedFields{finder: newFinder(), live: u.Object, manifest: manifest.Object, set: set}
	var failed error
	set.Iterate(func(p fieldpath.Path) {
		if failed == nil {
			failed = hashField(h, p, fields.at(p))
		}
	})
	if failed != nil {
		return "", failed
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ownedFields are the fields of a resource that a manager has applied.
type ownedFields struct {
	*finder

	live, manifest map[string]any
	set            *fieldpath.Set
}

// at returns what counts of the field at a path: its value, or true if only its presence does, or nil if it is not
// there.
func (f ownedFields) at(p fieldpath.Path) any {
	v, ok := f.find(f.live, p)
	if !ok {
		return nil
	}
	set := f.set
	for _, e := range p {
		set = set.WithPrefix(e)
	}
	if !set.Empty() || p[len(p)-1].Key != nil {
		return true // The parts of it that we own have paths of their own.
	}
	if desired, ok := f.find(f.manifest, p); ok && isEmpty(desired) {
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
	return fieldSet(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
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
