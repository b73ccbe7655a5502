package apply

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// bookkeepingPrefix begins the keys of annotations that Crossplane's reconcilers keep on their own resources.
const bookkeepingPrefix = "crossplane.io/"

const (
	// managerOfLost owns what a server knows no manager of when it applies for the first time, or again after it has lost
	// all managed fields.
	managerOfLost = "before-first-apply"
	// ManagerOfKubectl is the field manager that owns what kubectl apply has written.
	ManagerOfKubectl = "kubectl-client-side-apply"
)

var (
	// annotations is the path of the map of annotations itself, and lastApplied of the one in which a client-side apply
	// keeps what it has applied.
	annotations = fieldpath.MakePathOrDie("metadata", "annotations")
	lastApplied = fieldpath.MakePathOrDie("metadata", "annotations", corev1.LastAppliedConfigAnnotation)
)

// A Migration says which fields of a resource become those of a manager.
type Migration struct {
	// Live is the resource as the server holds it, Manifest what is to be applied to it next.
	Live, Manifest *unstructured.Unstructured
	// Manager is the field manager that gets the fields.
	Manager string
	// Owned reports whether the manager owns the whole resource. Otherwise others own it, and the manager keeps some
	// of its fields.
	Owned bool
	// Legacy are the managers whose updates are a former client-side apply of the same manifests.
	Legacy []string
	// Signed are managers whose updates are if they own the annotation
	// kubectl.kubernetes.io/last-applied-configuration: programs of other projects have these names, too.
	Signed []string
	// InTheWay is why the server refuses the manifest. What others have updated, and is the cause, goes to the manager.
	InTheWay []metav1.StatusCause
	// Known are the managed fields that the resource had last, if it has lost all.
	Known []metav1.ManagedFieldsEntry
}

// Needed reports whether Migrate would change the managed fields of the resource.
func (m Migration) Needed() (bool, error) {
	_, changed, err := m.migrated()
	return changed, errors.Wrap(err, "cannot compare resource")
}

// Migrate makes fields that legacy managers own those of a manager, which the next Apply then keeps or removes, and
// reports whether there are any. So it does with those fields of the manifest that kubectl apply has written, or nobody
// known, if the resource is to be the manager's: two owners of a field would keep it when it leaves the manifest. What
// the manager has applied in another version of the API becomes its own in that of the manifest: a server refuses to
// apply to a resource that has fields, such as defaults, which the former version does not know. The server answers
// with a conflict if the resource has changed since it was read.
func (c Client) Migrate(ctx context.Context, m Migration) (bool, error) {
	entries, changed, err := m.migrated()
	if err != nil || !changed {
		return false, errors.Wrap(err, "cannot compare resource")
	}
	patch := encode([]map[string]any{
		{"op": "add", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": m.Live.GetResourceVersion()},
	})
	_, err = c.Resources.Patch(ctx, m.Live.GetName(), types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: m.Manager})
	return true, errors.Wrapf(c.clean(m.Manifest, err), "cannot take over the fields of %s %q", m.Live.GetKind(),
		m.Live.GetName())
}

// messageStays says what to do about a manifest that a server refuses for the resource that is there.
const messageStays = "the target would take the manifest for a new resource, but not for the one that is there: take " +
	"the change back, or delete the resource on the target, and it is made again as the manifest wants it. All that is " +
	"deleted with it is lost, such as the data of a PersistentVolumeClaim; a StatefulSet keeps its Pods with " +
	"kubectl delete --cascade=orphan"

// Insist deals with a refusal of a manifest that is to be all of a resource. What others have updated and is in the way
// is cleared, and the manifest is sent again. If there is nothing, the error says what to do if the server would take
// the manifest for a new resource: a creation on a dry run is told what is invalid before what exists.
func (c Client) Insist(ctx context.Context, m Migration, refused error,
	send func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	m.InTheWay = causes(refused)
	if m.InTheWay == nil || m.Live == nil || !m.Owned {
		return nil, refused
	}
	switch again, err := c.Migrate(ctx, m); {
	case err != nil:
		return nil, err
	case again:
		return send()
	}
	o := metav1.CreateOptions{FieldManager: c.Manager, DryRun: []string{metav1.DryRunAll}}
	_, err := c.Resources.Create(ctx, m.Manifest, o)
	alone := causes(err)
	if (alone != nil || apierrors.IsAlreadyExists(err) || IsQuotaExceeded(err)) &&
		slices.ContainsFunc(m.InTheWay, func(c metav1.StatusCause) bool {
			return !slices.ContainsFunc(alone, func(a metav1.StatusCause) bool { return a.Type == c.Type && a.Field == c.Field })
		}) {
		return nil, errors.Wrap(refused, messageStays)
	}
	return nil, refused
}

// causesMost is how many causes of a refusal are looked at. A target may invent any number.
const causesMost = 100

// brackets name an item of a list in the name of a field.
var brackets = regexp.MustCompile(`\[[^\]]*\]`)

// causes returns what a server finds invalid, with fields as .spec.ports.name. It is one cause without a field if the
// server does not say.
func causes(err error) []metav1.StatusCause {
	var answer apierrors.APIStatus
	switch {
	case !errors.As(err, &answer):
		return nil
	case strings.HasPrefix(answer.Status().Message, "duplicate nodePort"): // A Service is refused with this text alone.
		return []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueDuplicate, Field: ".spec.ports.nodePort"}}
	case !apierrors.IsInvalid(err):
		return nil
	}
	found := []metav1.StatusCause{{}}
	if d := answer.Status().Details; d != nil && len(d.Causes) > 0 {
		found = slices.Clone(d.Causes[:min(len(d.Causes), causesMost)])
	}
	for i := range found {
		found[i].Field = "." + brackets.ReplaceAllString(found[i].Field, "")
	}
	return found
}

// migrated returns the managed fields as they are to be, and whether that changes any. Package csaupgrade moves whole
// entries of one version only, and would take what the legacy managers keep.
func (m Migration) migrated() (entries []metav1.ManagedFieldsEntry, changed bool, err error) {
	all, moved := m.Live.GetManagedFields(), fieldpath.NewSet()
	if len(all) == 0 && len(m.Known) > 0 { // A server drops all again that cannot be converted.
		all = slices.DeleteFunc(slices.Clone(m.Known), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager != m.Manager && e.APIVersion != m.Manifest.GetAPIVersion()
		})
		m.Live, changed = m.Live.DeepCopy(), len(all) > 0
		m.Live.SetManagedFields(all)
	}
	ours := metav1.ManagedFieldsEntry{
		Manager: m.Manager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: m.Manifest.GetAPIVersion(), FieldsType: "FieldsV1",
	}
	for _, e := range all {
		if e.Manager == m.Manager && e.Operation == ours.Operation && e.Subresource == "" {
			ours.Time, changed = e.Time, changed || e.APIVersion != ours.APIVersion
			continue
		}
		part, rest, err := m.split(e)
		if err != nil {
			return nil, false, err
		}
		if !part.Empty() {
			ours.Time, changed, moved = e.Time, true, moved.Union(part)
			e.FieldsV1 = encodeFields(rest)
		}
		if part.Empty() || !rest.Empty() {
			entries = append(entries, e)
		}
	}
	if !changed {
		return all, false, nil
	}
	applied, err := owned(m.Live, m.Manager)
	if err != nil {
		return nil, false, err
	}
	ours.FieldsV1 = encodeFields(applied.Union(moved))
	return append(entries, ours), true, nil
}

// split divides the fields of an entry into those to move and those its manager keeps; both are empty if none is to
// move.
func (m Migration) split(e metav1.ManagedFieldsEntry) (moved, kept *fieldpath.Set, err error) {
	kept = fieldpath.NewSet()
	keeps := m.keeps(e.Manager)
	if e.Operation != metav1.ManagedFieldsOperationUpdate || e.Subresource != "" || keeps == nil {
		return kept, kept, nil
	}
	all, err := fieldsOf(e)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(m.Signed, e.Manager) && !slices.Contains(m.Legacy, e.Manager) && !all.Has(lastApplied) {
		return kept, kept, nil
	}
	all.Iterate(func(p fieldpath.Path) {
		if !p.Equals(annotations) && keeps(p) {
			kept.Insert(p.Copy())
		}
	})
	moved = all.Difference(kept)
	if !kept.Empty() && moved.WithPrefix(annotations[0]).WithPrefix(annotations[1]).Empty() {
		moved = moved.Difference(fieldpath.NewSet(annotations)) // The map goes where its content goes.
		kept = all.Difference(moved)
	}
	return moved, kept, nil
}

// keeps returns which fields a manager keeps, nil if it keeps all of its fields.
func (m Migration) keeps(manager string) func(fieldpath.Path) bool {
	f, gives := newFinder(), manager == managerOfLost || manager == ManagerOfKubectl
	given := func(p fieldpath.Path) bool { return f.gives(m.Manifest.Object, p) }
	switch {
	case slices.Contains(m.Legacy, manager), slices.Contains(m.Signed, manager):
		return func(p fieldpath.Path) bool { return isBookkeeping(p) && !given(p) }
	case m.Owned && (gives || len(m.InTheWay) > 0):
		ours, err := owned(m.Live, m.Manager)
		if err != nil {
			return nil // Nothing can be moved.
		}
		return func(p fieldpath.Path) bool { return !(gives && given(p)) && !m.blocks(f, ours, p) }
	}
	return nil
}

// blocks reports whether a field that the manifest does not give is in its way: in an item that collides with one of
// the manifest, or in what the manifest gives and may not have both.
func (m Migration) blocks(f *finder, ours *fieldpath.Set, p fieldpath.Path) bool {
	name, inItem := []byte(nil), false
	for i, e := range p {
		if e.FieldName != nil {
			name = append(append(name, '.'), *e.FieldName...)
		}
		inItem = inItem || e.Key != nil
		for _, c := range m.InTheWay {
			last := max(strings.LastIndex(c.Field, "."), 0)
			if c.Field[:last] != string(name) {
				continue
			}
			in := fieldpath.PathElement{FieldName: new(c.Field[last+1:])}
			given := f.gives(m.Manifest.Object, p[:i+1])
			_, exact := f.find(m.Manifest.Object, p[:i+1]) // Or it differs in a key that the manifest leaves to a default.
			both := given && f.gives(m.Manifest.Object, append(p[:i+1:i+1], in))
			if e.Key != nil && !exact && !ours.Has(p[:i+1]) && m.collides(f, p[:i+1], in, c.Type) ||
				given && !both && i+1 < len(p) && p[i+1].Equals(in) ||
				both && inItem && strings.Contains(c.Message, "may not ") {
				return true
			}
		}
	}
	return false
}

// collides reports whether an item that the manifest does not give has the value of one that the manifest gives, in a
// field of which each has its own, or stands beside one where each needs a name.
func (m Migration) collides(f *finder, item fieldpath.Path, in fieldpath.PathElement, why metav1.CauseType) bool {
	value, has := f.find(m.Live.Object, append(item[:len(item):len(item)], in))
	list, _ := f.find(m.Manifest.Object, item[:len(item)-1])
	items, _ := list.([]any)
	same := func(i any) bool {
		v, _ := f.step(i, in)
		return equality.Semantic.DeepEqual(v, value)
	}
	switch why {
	case metav1.CauseTypeFieldValueDuplicate, metav1.CauseTypeFieldValueInvalid: // It is valid as it stands.
		return has && slices.ContainsFunc(items, same)
	case metav1.CauseTypeFieldValueRequired: // The manifest is at fault if one of its own lacks it beside another.
		value = nil
		return *in.FieldName == "name" && (len(items) == 1 || !slices.ContainsFunc(items, same))
	}
	return false
}

// isBookkeeping reports whether a field is one that reconcilers keep on resources of their own, beside what a manifest
// gives: finalizers, owners, and the annotations of Crossplane. They must outlive a migration.
func isBookkeeping(p fieldpath.Path) bool {
	s := p.String()
	return strings.HasPrefix(s, ".metadata.finalizers") || strings.HasPrefix(s, ".metadata.ownerReferences") ||
		strings.HasPrefix(s, annotations.String()+"."+bookkeepingPrefix)
}

func encodeFields(s *fieldpath.Set) *metav1.FieldsV1 {
	b, _ := s.ToJSON() // What comes from JSON can be encoded.
	return metav1.NewFieldsV1(string(b))
}

// Rival says which field of a manifest a resource has of another manager, and of which.
func Rival(live, manifest *unstructured.Unstructured, manager string) (string, error) {
	f := newFinder()
	for _, e := range live.GetManagedFields() {
		if e.Manager == manager || e.Subresource != "" {
			continue
		}
		all, err := fieldsOf(e)
		if err != nil {
			return "", err
		}
		field := ""
		all.Leaves().Iterate(func(p fieldpath.Path) {
			want, given := f.find(manifest.Object, p)
			if is, _ := f.find(live.Object, p); field == "" && given && !equality.Semantic.DeepEqual(want, is) {
				field = p.String()
			}
		})
		if field != "" {
			return fmt.Sprintf("%s is set by %q: take it out of the manifest, or stop that manager", field, e.Manager), nil
		}
	}
	return "fields of the manifest are removed, or owned by others", nil
}
