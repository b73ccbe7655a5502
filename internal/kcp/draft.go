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

// SetAnnotation sets an annotation.
func (d *Draft) SetAnnotation(key, value string) {
	a := d.next.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[key] = value
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
	if _, ok, _ := unstructured.NestedMap(d.next.Object, "spec", fieldPolicy, "local"); ok {
		return nil
	}
	err := unstructured.SetNestedMap(d.next.Object, map[string]any{}, "spec", fieldPolicy, "local")
	return errors.Wrap(err, "cannot set policy of APIExport")
}

// Schema returns the name of the schema by which a resource is exported, empty if it is not.
func (d *Draft) Schema(r schema.GroupResource) string {
	entries := d.list(fieldResources)
	if i := indexOf(entries, "name", r); i >= 0 {
		entry := entries[i].(map[string]any) //nolint:forcetypeassert // indexOf has seen it.
		name, _, _ := unstructured.NestedString(entry, "schema")
		return name
	}
	return ""
}

// Schemas returns the names of all schemas by which resources are exported.
func (d *Draft) Schemas() []string {
	var names []string
	for _, e := range d.list(fieldResources) {
		if m, ok := e.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(m, "schema")
			names = append(names, name)
		}
	}
	return names
}

// SetSchema exports a resource by a schema. It fails if the resource is exported otherwise than by a schema that
// describes what is stored, which is somebody else's doing.
func (d *Draft) SetSchema(r schema.GroupResource, name string) error {
	entries := d.list(fieldResources)
	i := indexOf(entries, "name", r)
	if i < 0 {
		return d.setList(fieldResources, append(entries, map[string]any{
			"name": r.Resource, "group": r.Group, "schema": name, "storage": map[string]any{"crd": map[string]any{}},
		}))
	}
	entry, _ := entries[i].(map[string]any)
	if _, virtual, _ := unstructured.NestedMap(entry, "storage", "virtual"); virtual {
		return errors.Errorf("APIExport has resource %s of virtual storage", r)
	}
	entry["schema"] = name
	return d.setList(fieldResources, entries)
}

// RemoveResource exports a resource no more.
func (d *Draft) RemoveResource(r schema.GroupResource) error {
	entries := d.list(fieldResources)
	i := indexOf(entries, "name", r)
	if i < 0 {
		return nil
	}
	return d.setList(fieldResources, slices.Delete(entries, i, i+1))
}

// list returns a list of the spec, which may be changed.
func (d *Draft) list(field string) []any {
	l, _, _ := unstructured.NestedSlice(d.next.Object, "spec", field)
	return l
}

func (d *Draft) setList(field string, l []any) error {
	return errors.Wrapf(unstructured.SetNestedSlice(d.next.Object, l, "spec", field),
		"cannot set field %s of APIExport", field)
}

// indexOf returns the index of the entry of a resource, -1 if there is none. The entries name it in a field.
func indexOf(entries []any, field string, r schema.GroupResource) int {
	return slices.IndexFunc(entries, func(e any) bool {
		m, ok := e.(map[string]any)
		if !ok {
			return false
		}
		group, _, _ := unstructured.NestedString(m, "group")
		name, _, _ := unstructured.NestedString(m, field)
		return group == r.Group && name == r.Resource
	})
}
