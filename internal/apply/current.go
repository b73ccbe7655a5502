package apply

import (
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
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
	desired, err := typed.DeducedParseableType.FromUnstructured(manifest.Object)
	if err != nil {
		return false, errors.Wrap(err, "cannot read manifest")
	}
	wanted, err := desired.ToFieldSet()
	if err != nil {
		return false, errors.Wrap(err, "cannot read the fields of the manifest")
	}
	wanted = wanted.Leaves().Difference(identifying)
	same, f := held.Leaves().Equals(wanted), newFinder()
	wanted.Iterate(func(p fieldpath.Path) {
		want, _ := f.find(manifest.Object, p)
		got, ok := f.find(live.Object, p)
		same = same && ok && equality.Semantic.DeepEqual(want, got)
	})
	return same, nil
}
