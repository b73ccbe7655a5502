package apply

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// bookkeepingPrefix begins the keys of annotations that Crossplane's reconcilers keep on their own resources.
const bookkeepingPrefix = "crossplane.io/"

var (
	// annotations is the path of the map of annotations itself, and lastApplied of the one in which a client-side apply
	// keeps what it has applied.
	annotations = fieldpath.MakePathOrDie("metadata", "annotations")
	lastApplied = fieldpath.MakePathOrDie("metadata", "annotations", corev1.LastAppliedConfigAnnotation)
)

// Legacy says which managers' updates are a former client-side apply of the same manifests.
type Legacy struct {
	// Names are the managers whose updates are.
	Names []string
	// Signed are managers whose updates are if they own the annotation
	// kubectl.kubernetes.io/last-applied-configuration: programs of other projects have these names, too.
	Signed []string
}

// Holds reports whether legacy managers own fields of a resource that Migrate would move.
func (l Legacy) Holds(live, manifest *unstructured.Unstructured) (bool, error) {
	if !l.mentioned(live) {
		return false, nil
	}
	for _, e := range live.GetManagedFields() {
		moved, _, err := l.split(e, manifest)
		if err != nil || !moved.Empty() {
			return err == nil, err
		}
	}
	return false, nil
}

// mentioned reports whether the name of a legacy manager occurs in the managed fields at all. It costs less than to
// decode them.
func (l Legacy) mentioned(live *unstructured.Unstructured) bool {
	v, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	entries, _ := v.([]any)
	return slices.ContainsFunc(entries, func(e any) bool {
		m, _ := e.(map[string]any)
		name, _ := m["manager"].(string)
		return m["operation"] == string(metav1.ManagedFieldsOperationUpdate) && l.names(name)
	})
}

func (l Legacy) names(manager string) bool {
	return slices.Contains(l.Names, manager) || slices.Contains(l.Signed, manager)
}

// Migrate makes fields that legacy managers own those of a manager, which the next Apply then keeps or removes. It
// returns the resource as the server holds it then. The server answers with a conflict if the resource has changed
// since it was read.
func Migrate(ctx context.Context, c dynamic.ResourceInterface, l Legacy,
	m Migration,
) (*unstructured.Unstructured, error) {
	entries, err := l.migrated(m)
	if err != nil {
		return nil, errors.Wrapf(err, "cannot migrate the fields of %s %q", m.Live.GetKind(), m.Live.GetName())
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": m.Live.GetResourceVersion()},
	})
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode managed fields")
	}
	u, err := c.Patch(ctx, m.Live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: m.Manager})
	return u, errors.Wrapf(err, "cannot migrate the fields of %s %q", m.Live.GetKind(), m.Live.GetName())
}

// A Migration is what is migrated.
type Migration struct {
	// Live is the resource as the server holds it, Manifest what is to be applied to it next.
	Live, Manifest *unstructured.Unstructured
	// Manager is the field manager that gets the fields.
	Manager string
}

// migrated returns the managed fields as they are to be. What the legacy managers keep is taken out of their entries
// before the upgrade, and put back after it.
func (l Legacy) migrated(m Migration) ([]metav1.ManagedFieldsEntry, error) {
	entries := m.Live.GetManagedFields()
	managers := sets.New[string]()
	var kept []metav1.ManagedFieldsEntry
	for i := range entries {
		moved, rest, err := l.split(entries[i], m.Manifest)
		if err != nil {
			return nil, err
		}
		if moved.Empty() {
			continue
		}
		managers.Insert(entries[i].Manager)
		if !rest.Empty() {
			e := *entries[i].DeepCopy()
			if err := setFields(&e, rest); err != nil {
				return nil, err
			}
			kept = append(kept, e)
		}
		if err := setFields(&entries[i], moved); err != nil {
			return nil, err
		}
	}
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	if err := csaupgrade.UpgradeManagedFields(o, managers, m.Manager); err != nil {
		return nil, errors.Wrap(err, "cannot upgrade managed fields")
	}
	return append(o.GetManagedFields(), kept...), nil
}

// split divides the fields of an entry into those to move and those its manager keeps; both are empty if it is no
// legacy manager's.
func (l Legacy) split(e metav1.ManagedFieldsEntry,
	manifest *unstructured.Unstructured,
) (moved, kept *fieldpath.Set, err error) {
	moved, kept = fieldpath.NewSet(), fieldpath.NewSet()
	if e.Operation != metav1.ManagedFieldsOperationUpdate || e.Subresource != "" || e.FieldsV1 == nil ||
		!l.names(e.Manager) {
		return moved, kept, nil
	}
	all := fieldpath.NewSet()
	if err := all.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
		return nil, nil, errors.Wrapf(err, "cannot read the fields of manager %q", e.Manager)
	}
	if !slices.Contains(l.Names, e.Manager) && !all.Has(lastApplied) {
		return moved, kept, nil
	}
	f := newFinder()
	all.Iterate(func(p fieldpath.Path) {
		_, given := f.find(manifest.Object, p)
		switch {
		case p.Equals(annotations): // It goes where its content goes.
		case !given && isBookkeeping(p):
			kept.Insert(p.Copy())
		default:
			moved.Insert(p.Copy())
		}
	})
	if all.Has(annotations) && !moved.Empty() {
		moved.Insert(annotations)
	}
	return moved, kept, nil
}

// isBookkeeping reports whether a field is one that reconcilers keep on resources of their own, beside what a manifest
// gives: finalizers, owners, and the annotations of Crossplane. They must outlive a migration.
func isBookkeeping(p fieldpath.Path) bool {
	if len(p) < 2 || p[0].FieldName == nil || *p[0].FieldName != "metadata" || p[1].FieldName == nil {
		return false
	}
	switch *p[1].FieldName {
	case "finalizers", "ownerReferences":
		return true
	case "annotations":
		return len(p) > 2 && p[2].FieldName != nil && strings.HasPrefix(*p[2].FieldName, bookkeepingPrefix)
	}
	return false
}

func setFields(e *metav1.ManagedFieldsEntry, s *fieldpath.Set) error {
	b, err := s.ToJSON()
	if err != nil {
		return errors.Wrapf(err, "cannot encode the fields of manager %q", e.Manager)
	}
	e.FieldsV1 = &metav1.FieldsV1{}
	e.FieldsV1.SetRawBytes(b)
	return nil
}
