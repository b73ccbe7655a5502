package apply

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Authored returns what of a resource its authors have written: the fields that appliers and updaters own, by their
// managed fields. Defaults are left out as far as they are nobody's, and so are what subresources write, as
// autoscalers do, the status, finalizers, owners, and the copy that kubectl keeps. It is nil if nobody owns a field.
func Authored(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	entries := live.GetManagedFields()
	all, err := fieldsOf(entries...)
	if err != nil {
		return nil, err
	}
	own, err := fieldsOf(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })...)
	if err != nil || own.Empty() {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.Object, _ = newFinder().authored(live.DeepCopy().Object, own, all).(map[string]any) // A map stays one.
	unstructured.RemoveNestedField(u.Object, "status")
	for _, field := range append([]string{"finalizers", "ownerReferences"}, ofServer...) {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	meta.RemoveAnnotations(u, corev1.LastAppliedConfigAnnotation)
	if len(u.GetAnnotations()) == 0 {
		u.SetAnnotations(nil)
	}
	u.SetGroupVersionKind(live.GroupVersionKind())
	u.SetNamespace(live.GetNamespace())
	u.SetName(live.GetName())
	return u, nil
}

// authored returns what of a value is owned. A value below which nobody owns a field is owned as a whole.
func (f *finder) authored(v any, own, all *fieldpath.Set) any {
	if all.Empty() {
		return v
	}
	of := func(item any, e fieldpath.PathElement) any {
		return f.authored(item, own.WithPrefix(e), all.WithPrefix(e))
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if e := (fieldpath.PathElement{FieldName: &k}); own.Members.Has(e) || !own.WithPrefix(e).Empty() {
				out[k] = of(item, e)
			}
		}
		return out
	case []any:
		items := map[int]any{}
		for _, elements := range []iter.Seq[fieldpath.PathElement]{own.Members.All(), own.Children.All()} {
			for e := range elements {
				if item, ok := f.step(v, e); ok {
					items[f.position(v, e)] = of(item, e)
				}
			}
		}
		out := []any{}
		for _, i := range slices.Sorted(maps.Keys(items)) {
			out = append(out, items[i])
		}
		return out
	}
	return v
}

// Owners returns which fields of a manifest others own on a resource, each with the manager and the subresource it has
// written by, sorted.
func Owners(live, manifest *unstructured.Unstructured, manager string) ([]string, error) {
	var said []string
	f := newFinder()
	for _, e := range live.GetManagedFields() {
		all, err := fieldsOf(e)
		if err != nil {
			return nil, err
		}
		if e.Manager == manager && e.Subresource == "" {
			continue
		}
		by := fmt.Sprintf(" is owned by %q", e.Manager)
		if e.Subresource != "" {
			by += " through " + e.Subresource
		}
		all.Leaves().Iterate(func(p fieldpath.Path) {
			if _, given := f.find(manifest.Object, p); given {
				said = append(said, strings.TrimPrefix(p.String(), ".")+by)
			}
		})
	}
	slices.Sort(said)
	return said, nil
}
