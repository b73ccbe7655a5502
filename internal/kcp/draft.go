package kcp

import (
	"slices"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Change makes a Draft as its author wants it. It may be made several times, and changes nothing the second time. A
// Draft is of no use after a Change that fails.
type Change func(*Draft) error

// A Draft is an APIExport that is being changed.
type Draft struct {
	base *unstructured.Unstructured // nil if there is none yet
	next *unstructured.Unstructured
}

// NewDraft returns a Draft of an APIExport of v1alpha2, or of a new one of a name if base is nil. It does not change
// base.
func NewDraft(name string, base *unstructured.Unstructured) *Draft {
	d := &Draft{base: base}
	if base != nil {
		d.next = base.DeepCopy()
		return d
	}
	d.next = &unstructured.Unstructured{}
	d.next.SetGroupVersionKind(apisv1alpha2.SchemeGroupVersion.WithKind("APIExport"))
	d.next.SetName(name)
	return d
}

// Changed reports whether the Draft differs from what it was made from. One of a new APIExport always does.
func (d *Draft) Changed() bool {
	return d.base == nil || !equality.Semantic.DeepEqual(d.base.Object, d.next.Object)
}

// Fields of the spec of an APIExport.
const (
	fieldResources = "resources"
	fieldClaims    = "permissionClaims"
	fieldPolicy    = "maximalPermissionPolicy"
)

// Exists reports whether there is an APIExport already.
func (d *Draft) Exists() bool { return d.base != nil }

// SetAnnotation sets an annotation, or removes it if the value is empty.
func (d *Draft) SetAnnotation(key, value string) {
	a := d.next.GetAnnotations()
	switch {
	case value == "":
		delete(a, key)
	case a == nil:
		a = map[string]string{key: value}
	default:
		a[key] = value
	}
	d.next.SetAnnotations(a)
}

// SetDefaultAnnotation sets an annotation unless the APIExport has it.
func (d *Draft) SetDefaultAnnotation(key, value string) {
	if _, ok := d.next.GetAnnotations()[key]; !ok {
		d.SetAnnotation(key, value)
	}
}

// SetLocalPolicy makes RBAC in the workspace of the APIExport the upper bound of what consumers may do.
func (d *Draft) SetLocalPolicy() error {
	err := unstructured.SetNestedMap(d.next.Object, map[string]any{}, "spec", fieldPolicy, "local")
	return errors.Wrap(err, "cannot set policy of APIExport")
}

// Schema returns the name of the schema by which a resource is exported, empty if it is not.
func (d *Draft) Schema(r schema.GroupResource) string { return SchemaOf(d.next, r) }

// SchemaOf returns the name of the schema by which an APIExport exports a resource, empty if it does not.
func SchemaOf(export *unstructured.Unstructured, r schema.GroupResource) string {
	return textOf(find(entriesOf(export, fieldResources), "name", r), "schema")
}

// Schemas returns the names of all schemas by which resources are exported.
func (d *Draft) Schemas() []string {
	var names []string
	for _, e := range d.entries(fieldResources) {
		names = append(names, textOf(e, "schema"))
	}
	return names
}

// SetSchema exports a resource by a schema. It fails if the resource is exported otherwise than by a schema that
// describes what is stored, which is somebody else's doing.
func (d *Draft) SetSchema(r schema.GroupResource, name string) error {
	entries := d.entries(fieldResources)
	entry := find(entries, "name", r)
	if entry == nil {
		return d.setEntries(fieldResources, append(entries, map[string]any{
			"name": r.Resource, "group": r.Group, "schema": name, "storage": map[string]any{"crd": map[string]any{}},
		}))
	}
	if _, virtual, _ := unstructured.NestedMap(entry, "storage", "virtual"); virtual {
		return errors.Errorf("the APIExport offers %s from virtual storage already: publish it in another APIExport", r)
	}
	entry["schema"] = name
	return d.setEntries(fieldResources, entries)
}

// RemoveResource exports a resource no more.
func (d *Draft) RemoveResource(r schema.GroupResource) error {
	return d.remove(fieldResources, "name", r)
}

// remove removes the entry of a resource from a list of the spec. The entries name it in a field.
func (d *Draft) remove(list, field string, r schema.GroupResource) error {
	entries := d.entries(list)
	if find(entries, field, r) == nil {
		return nil
	}
	return d.setEntries(list, slices.DeleteFunc(entries, func(e map[string]any) bool { return isOf(e, field, r) }))
}

// entries returns a list of the spec, whose elements may be changed.
func (d *Draft) entries(list string) []map[string]any { return entriesOf(d.next, list) }

func entriesOf(export *unstructured.Unstructured, list string) []map[string]any {
	field, _, _ := unstructured.NestedFieldNoCopy(export.Object, "spec", list)
	all, _ := field.([]any)
	out := make([]map[string]any, 0, len(all))
	for _, e := range all {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func (d *Draft) setEntries(list string, entries []map[string]any) error {
	all := make([]any, 0, len(entries))
	for _, e := range entries {
		all = append(all, e)
	}
	return errors.Wrapf(unstructured.SetNestedSlice(d.next.Object, all, "spec", list),
		"cannot set field %s of APIExport", list)
}

// find returns the entry of a resource, nil if there is none.
func find(entries []map[string]any, field string, r schema.GroupResource) map[string]any {
	i := slices.IndexFunc(entries, func(e map[string]any) bool { return isOf(e, field, r) })
	if i < 0 {
		return nil
	}
	return entries[i]
}

func isOf(entry map[string]any, field string, r schema.GroupResource) bool {
	return textOf(entry, "group") == r.Group && textOf(entry, field) == r.Resource
}

func textOf(entry map[string]any, field string) string {
	s, _, _ := unstructured.NestedString(entry, field)
	return s
}
