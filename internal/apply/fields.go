package apply

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// namedMost limits how many items a finder names. No resource has as many, but managed fields that a target invents may
// name those of one list by ever other keys.
const namedMost = 1 << 18

// partialMost is how long a list may be in which items are looked for that lack a key. It takes a look at each of them.
const partialMost = 256

// fieldsOf returns the fields of managed fields.
func fieldsOf(entries ...metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, e := range entries {
		if e.FieldsV1 == nil {
			continue
		}
		s := fieldpath.NewSet()
		if err := s.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, errors.Wrapf(err, "cannot read the fields of manager %q", e.Manager)
		}
		all = all.Union(s)
	}
	return all, nil
}

// owned returns the fields a manager has applied to the resource itself.
func owned(u *unstructured.Unstructured, manager string) (*fieldpath.Set, error) {
	return fieldsOf(slices.DeleteFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != manager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != ""
	})...)
}

// A finder finds values by their field paths in documents that do not change meanwhile. It indexes each list when it
// first looks into it, so that looking for all n items of a list takes n steps and not n².
type finder struct {
	positions map[listKey]map[string]int // of the items of a list, by their names
	named     int
}

// A listKey tells a list by its first item, as lists cannot be keys, and how its items are named.
type listKey struct {
	first  *any
	length int
	keys   string
}

func newFinder() *finder { return &finder{positions: map[listKey]map[string]int{}} }

// find returns the value at a path, and whether there is one.
func (f *finder) find(v any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		var ok bool
		if v, ok = f.step(v, e); !ok {
			return nil, false
		}
	}
	return v, true
}

// gives reports whether a manifest gives the field at a path of a live resource. A key that it leaves to a default,
// such as the protocol of a port, may be any.
func (f *finder) gives(v any, p fieldpath.Path) bool {
	for _, e := range p {
		next, ok := f.step(v, e)
		if list, is := v.([]any); !ok && is {
			next, ok = at(list, similar(list, e))
		}
		if v = next; !ok {
			return false
		}
	}
	return true
}

func (f *finder) step(v any, e fieldpath.PathElement) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if e.FieldName != nil {
			child, ok := v[*e.FieldName]
			return child, ok
		}
	case []any:
		return at(v, f.position(v, e))
	}
	return nil, false
}

func at(list []any, i int) (any, bool) {
	if i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}

// position returns the index of the first item of a list that a path element selects, -1 if there is none.
func (f *finder) position(list []any, e fieldpath.PathElement) int {
	if e.Index != nil {
		return *e.Index
	}
	if len(list) == 0 || e.FieldName != nil {
		return -1
	}
	l := listKey{first: &list[0], length: len(list), keys: keysOf(e)}
	positions, ok := f.positions[l]
	if !ok && f.named <= namedMost {
		f.named += len(list)
		positions = make(map[string]int, len(list))
		for i, item := range slices.Backward(list) {
			if named, ok := elementOf(item, e); ok {
				positions[nameOf(named)] = i
			}
		}
		f.positions[l] = positions
	}
	if i, ok := positions[nameOf(e)]; ok {
		return i
	}
	return -1
}

// elementOf returns the path element of an item of a list whose items are named as another path element names one, and
// whether the item has all of these keys.
func elementOf(item any, like fieldpath.PathElement) (fieldpath.PathElement, bool) {
	if like.Value != nil {
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}, true
	}
	m, _ := item.(map[string]any)
	keys := value.FieldList{}
	for _, k := range *like.Key {
		if v, ok := m[k.Name]; ok {
			keys = append(keys, value.Field{Name: k.Name, Value: value.NewValueInterface(v)})
		}
	}
	return fieldpath.PathElement{Key: &keys}, m != nil && len(keys) == len(*like.Key)
}

// keysOf returns the keys by which a path element names an item, or that it does so by value.
func keysOf(e fieldpath.PathElement) string {
	if e.Value != nil {
		return "="
	}
	var names []string
	for _, k := range *e.Key {
		names = append(names, k.Name)
	}
	return "/" + strings.Join(names, "/")
}

// nameOf returns a name that is the same for equal path elements, for 1 and 1.0 too.
func nameOf(e fieldpath.PathElement) string {
	name, err := fieldpath.SerializePathElement(e)
	if err != nil {
		return "" // It does not come from JSON.
	}
	return name
}

// similar returns the index of the first item of a list that has one of the keys of a path element at least, and none
// with another value; -1 if there is none.
func similar(list []any, e fieldpath.PathElement) int {
	if e.Key == nil || len(list) > partialMost {
		return -1
	}
	return slices.IndexFunc(list, func(item any) bool {
		m, _ := item.(map[string]any)
		has := false
		for _, k := range *e.Key {
			v, given := m[k.Name]
			if given && !value.Equals(value.NewValueInterface(v), k.Value) {
				return false
			}
			has = has || given
		}
		return has
	})
}

// Authored returns what of a resource its authors have written: the fields that appliers and updaters own, by their
// managed fields. Defaults are left out as far as they are nobody's, and so are what subresources write, as
// autoscalers do, the status, finalizers, owners, and the copy that kubectl keeps. It is nil if nobody owns a field.
func Authored(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	entries := live.GetManagedFields()
	all, err := fieldsOf(entries...)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" })
	own, err := fieldsOf(entries...)
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
