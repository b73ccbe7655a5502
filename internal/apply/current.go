package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// identifying are the fields of a manifest that say which resource it is about. Nobody owns them.
var identifying = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"),
)

// Current reports whether a resource is as an apply of a manifest leaves it: it has the fields of the manifest, and the
// manager owns these and no others. It is for manifests without lists. It needs no record, which for a Secret would
// tell of its content.
func Current(live, manifest *unstructured.Unstructured, manager string) (bool, error) {
	held, err := owned(live.GetManagedFields(), manager)
	if err != nil {
		return false, err
	}
	wanted := leaves(manifest.Object, nil).Difference(identifying)
	same, f := held.Leaves().Equals(wanted), newFinder()
	wanted.Iterate(func(p fieldpath.Path) {
		want, _ := f.find(manifest.Object, p)
		got, ok := f.find(live.Object, p)
		same = same && ok && equality.Semantic.DeepEqual(want, got)
	})
	return same, nil
}

// leaves returns the paths of all values that are no maps with content.
func leaves(m map[string]any, at fieldpath.Path) *fieldpath.Set {
	set := fieldpath.NewSet()
	for k, v := range m {
		p := append(slices.Clone(at), fieldpath.PathElement{FieldName: &k})
		if child, ok := v.(map[string]any); ok && len(child) > 0 {
			set = set.Union(leaves(child, p))
			continue
		}
		set.Insert(p)
	}
	return set
}
