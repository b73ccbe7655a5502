package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

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
		b, _ := json.Marshal(v) // What comes from JSON can be encoded.
		sum := sha256.Sum256(append([]byte(p.String()+"="), b...))
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

// owned returns the fields a manager has applied to the resource itself.
func owned(entries []metav1.ManagedFieldsEntry, manager string) (*fieldpath.Set, error) {
	return fieldSet(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
}
