package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
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

const (
	// managerOfLost owns what a server knows no manager of when it applies for the first time, or again after it has lost
	// all managed fields.
	managerOfLost = "before-first-apply"
	// managerOfKubectl owns what kubectl apply has written.
	managerOfKubectl = "kubectl-client-side-apply"
)

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

// Holds reports whether Migrate would change the managed fields of a resource.
func (l Legacy) Holds(m Migration) (bool, error) {
	if !l.mentioned(m) {
		return false, nil
	}
	for _, e := range m.Live.GetManagedFields() {
		moved, _, err := l.split(e, m)
		if err != nil || !moved.Empty() || m.outdated(e) {
			return err == nil, err
		}
	}
	return false, nil
}

// mentioned reports whether the managed fields may have anything to migrate. It costs less than to decode them.
func (l Legacy) mentioned(m Migration) bool {
	v, _, _ := unstructured.NestedFieldNoCopy(m.Live.Object, "metadata", "managedFields")
	entries, _ := v.([]any)
	return slices.ContainsFunc(entries, func(e any) bool {
		is, _ := e.(map[string]any)
		name, _ := is["manager"].(string)
		if is["operation"] == string(metav1.ManagedFieldsOperationUpdate) {
			return l.names(name) || name == managerOfLost || name == managerOfKubectl
		}
		return name == m.Manager && is["apiVersion"] != m.Manifest.GetAPIVersion()
	})
}

func (l Legacy) names(manager string) bool {
	return slices.Contains(l.Names, manager) || slices.Contains(l.Signed, manager)
}

// Migrate makes fields that legacy managers own those of a manager, which the next Apply then keeps or removes. So it
// does with those fields of the manifest that kubectl apply has written, or nobody known, if the resource is to be the
// manager's: two owners of a field would keep it when it leaves the manifest. What the manager has applied in another
// version of the API becomes its own in that of the manifest: a server refuses to apply to a resource that has fields,
// such as defaults, which the former version does not know. It returns the resource as the server holds it then. The
// server answers with a conflict if the resource has changed since it was read.
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
	// Owned reports whether the manager owns the whole resource. Otherwise others own it, and the manager keeps some
	// of its fields.
	Owned bool
}

// outdated reports whether an entry is of what the manager has applied in another version of the API.
func (m Migration) outdated(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == m.Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" &&
		e.APIVersion != m.Manifest.GetAPIVersion()
}

// migrated returns the managed fields as they are to be. What the legacy managers keep is taken out of their entries
// before the upgrade, and put back after it.
func (l Legacy) migrated(m Migration) ([]metav1.ManagedFieldsEntry, error) {
	entries := m.Live.GetManagedFields()
	managers := sets.New[string]()
	var kept []metav1.ManagedFieldsEntry
	for i := range entries {
		if m.outdated(entries[i]) {
			entries[i].APIVersion = m.Manifest.GetAPIVersion()
		}
		moved, rest, err := l.split(entries[i], m)
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
		entries[i].APIVersion = m.Manifest.GetAPIVersion() // Fields of two versions are not put together.
	}
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	if err := csaupgrade.UpgradeManagedFields(o, managers, m.Manager); err != nil {
		return nil, errors.Wrap(err, "cannot upgrade managed fields")
	}
	return append(o.GetManagedFields(), kept...), nil
}

// split divides the fields of an entry into those to move and those its manager keeps; both are empty if none is to
// move.
func (l Legacy) split(e metav1.ManagedFieldsEntry, m Migration) (moved, kept *fieldpath.Set, err error) {
	moved, kept = fieldpath.NewSet(), fieldpath.NewSet()
	keeps := l.keeps(e.Manager, m)
	if e.Operation != metav1.ManagedFieldsOperationUpdate || e.Subresource != "" || e.FieldsV1 == nil || keeps == nil {
		return moved, kept, nil
	}
	all := fieldpath.NewSet()
	if err := all.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
		return nil, nil, errors.Wrapf(err, "cannot read the fields of manager %q", e.Manager)
	}
	if slices.Contains(l.Signed, e.Manager) && !slices.Contains(l.Names, e.Manager) && !all.Has(lastApplied) {
		return moved, kept, nil
	}
	f, carried := newFinder(), false
	all.Iterate(func(p fieldpath.Path) {
		given := f.gives(m.Manifest.Object, p)
		switch {
		case p.Equals(annotations): // It goes where its content goes.
		case !given && keeps(p):
			kept.Insert(p.Copy())
		default:
			moved.Insert(p.Copy())
			carried = carried || len(p) > len(annotations) && p[:len(annotations)].Equals(annotations)
		}
	})
	switch {
	case !all.Has(annotations) || moved.Empty():
	case carried || kept.Empty():
		moved.Insert(annotations)
	default:
		kept.Insert(annotations)
	}
	return moved, kept, nil
}

// keeps returns which fields that the manifest does not give a manager keeps, nil if it keeps all of its fields.
func (l Legacy) keeps(manager string, m Migration) func(fieldpath.Path) bool {
	switch {
	case l.names(manager):
		return isBookkeeping
	case m.Owned && (manager == managerOfLost || manager == managerOfKubectl):
		return func(fieldpath.Path) bool { return true }
	}
	return nil
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

// Rival says which field of a manifest a resource has of another manager, and of which.
func Rival(live, manifest *unstructured.Unstructured, manager string) (string, error) {
	f := newFinder()
	for _, e := range live.GetManagedFields() {
		if e.Manager == manager || e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		all := fieldpath.NewSet()
		if err := all.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return "", errors.Wrapf(err, "cannot read the fields of manager %q", e.Manager)
		}
		field := ""
		all.Leaves().Iterate(func(p fieldpath.Path) {
			want, given := f.find(manifest.Object, p)
			if is, _ := f.find(live.Object, p); field == "" && given && !equality.Semantic.DeepEqual(want, is) {
				field = p.String()
			}
		})
		if field != "" {
			return fmt.Sprintf("%s is set by %q", field, e.Manager), nil
		}
	}
	return "fields of the manifest are removed, or owned by others", nil
}
