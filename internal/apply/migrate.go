package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
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
	// anybodys are managers whose fields become those of the manifest that gives them: kubectl's, and nobody's.
	anybodys = map[metav1.ManagedFieldsOperationType][]string{
		metav1.ManagedFieldsOperationUpdate: {managerOfLost, ManagerOfKubectl, "kubectl-create"},
		metav1.ManagedFieldsOperationApply:  {"kubectl"}, // with --server-side
	}
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
	// Left are prefixes of managers of ours. Those that have left a resource to others own fields by update; see Leave.
	Left []string
	// Former is the prefix of managers from which the manager has the whole resource, empty if there are none.
	Former string
	// Signed are managers whose updates are if they own the annotation
	// kubectl.kubernetes.io/last-applied-configuration: programs of other projects have these names, too.
	Signed []string
	// InTheWay is why the server refuses the manifest. What others have updated, or nobody owns, and is the cause, goes to
	// the manager.
	InTheWay []metav1.StatusCause
	// Known are the managed fields that the resource had last, if it has lost all.
	Known []metav1.ManagedFieldsEntry
	// Ignored are the fields of the manifest that are left to others.
	Ignored Ignored
}

// Needed reports whether Migrate would change the managed fields of the resource.
func (m Migration) Needed() (bool, error) {
	_, changed, err := m.migrated()
	return changed, errors.Wrap(err, "cannot compare the resource with the manifest")
}

// Migrate makes fields that legacy managers own those of a manager, which the next Apply then keeps or removes, and
// returns the resource as it is then, nil if there are none. So it does with those fields of the manifest that kubectl
// apply has written, or nobody known, if the resource is to be the manager's and they are not left to others: two
// owners of a field would keep it when it leaves the manifest. What the manager has applied in another version of the
// API becomes its own in that of the manifest: a server refuses to apply to a resource that has fields, such as
// defaults, which the former version does not know. The server answers with a conflict if the resource has changed
// since it was read.
func (c Client) Migrate(ctx context.Context, m Migration) (*unstructured.Unstructured, error) {
	entries, changed, err := m.migrated()
	if err != nil || !changed {
		return nil, errors.Wrap(err, "cannot compare the resource with the manifest")
	}
	u, err := c.setManagedFields(ctx, m.Live, entries)
	return u, errors.Wrapf(c.clean(m.Manifest, err), "cannot adopt the fields of %s %q", m.Live.GetKind(),
		m.Live.GetName())
}

// setManagedFields writes the managed fields of a resource, unless it has changed since it was read.
func (c Client) setManagedFields(ctx context.Context, live *unstructured.Unstructured,
	entries []metav1.ManagedFieldsEntry,
) (*unstructured.Unstructured, error) {
	patch := encode([]map[string]any{
		{"op": "add", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	return c.Resources.Patch(ctx, live.GetName(), types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: c.Manager})
}

// Leave makes what the manager has applied to a resource what it has updated: the next one that has the whole resource
// takes over from it what its manifest gives, as from kubectl apply, and the manager itself would take all of it. The
// server answers with a conflict if the resource has changed since it was read.
func (c Client) Leave(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	entries := live.GetManagedFields()
	i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == c.Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
	if i < 0 {
		return live, nil
	}
	entries[i].Operation = metav1.ManagedFieldsOperationUpdate
	u, err := c.setManagedFields(ctx, live, entries)
	return u, errors.Wrapf(c.clean(live, err), "cannot release the fields of %s %q", live.GetKind(), live.GetName())
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
	if m.Manifest, err = m.Ignored.Payload(m.Live, m.Manifest, m.Manager); err != nil {
		return nil, false, err
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
	moved = moved.Union(m.defaultsInTheWay(all))
	if !changed && moved.Empty() {
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
	keeps := m.keeps(e)
	if e.Subresource != "" || keeps == nil {
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

// keeps returns which fields the manager of an entry keeps, nil if it keeps all of its fields.
func (m Migration) keeps(e metav1.ManagedFieldsEntry) func(fieldpath.Path) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(e.Manager, prefix) }
	updates := e.Operation == metav1.ManagedFieldsOperationUpdate
	legacy := slices.Contains(m.Legacy, e.Manager) || slices.Contains(m.Signed, e.Manager)
	gives := updates && slices.ContainsFunc(m.Left, begins) || slices.Contains(anybodys[e.Operation], e.Manager)
	f := newFinder()
	given := func(p fieldpath.Path) bool { return f.gives(m.Manifest.Object, p) }
	switch {
	case updates && legacy, m.Former != "" && begins(m.Former):
		return func(p fieldpath.Path) bool { return isBookkeeping(p) && !given(p) }
	case m.Owned && (gives || updates && len(m.InTheWay) > 0):
		ours, err := owned(m.Live, m.Manager)
		if err != nil {
			return nil // Nothing can be moved.
		}
		return func(p fieldpath.Path) bool {
			return (!gives || !given(p)) && (!updates || !m.blocks(f, ours, p))
		}
	}
	return nil
}

// defaultsInTheWay returns the fields of the resource that a server does not allow beside the manifest and nobody owns:
// the defaults of what the manifest has left unset so far, such as the rolling update of a strategy that it now sets.
func (m Migration) defaultsInTheWay(entries []metav1.ManagedFieldsEntry) *fieldpath.Set {
	found, f := fieldpath.NewSet(), newFinder()
	if len(m.InTheWay) == 0 || !m.Owned {
		return found
	}
	all, err := fieldsOf(entries...)
	if err != nil {
		return found // Nothing can be moved.
	}
	for _, c := range m.InTheWay {
		var p fieldpath.Path
		for name := range strings.SplitSeq(strings.TrimPrefix(c.Field, "."), ".") {
			p = append(p, fieldpath.PathElement{FieldName: &name})
		}
		_, held := f.find(m.Live.Object, p)
		_, given := f.find(m.Manifest.Object, p)
		_, beside := f.find(m.Manifest.Object, p[:len(p)-1])
		if held && !given && beside && strings.HasPrefix(c.Field, ".spec.") && !all.Has(p) && below(all, p).Empty() &&
			(c.Type == metav1.CauseTypeForbidden || strings.Contains(c.Message, "only allowed for")) {
			found.Insert(p)
		}
	}
	return found
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

// Hash returns the hexadecimal SHA-256 of the JSON of a value, of the content of a manifest, say. The order of map keys
// does not matter.
func Hash(v any) string {
	sum := sha256.Sum256(encode(v))
	return hex.EncodeToString(sum[:])
}

// encode returns the JSON of a value that comes from JSON.
func encode(v any) []byte {
	b, _ := json.Marshal(v) //nolint:errchkjson // What comes from JSON can be encoded.
	return b
}

// HashOwned returns the hexadecimal SHA-256 of the fields of a resource that a manager has applied, with their values.
// It is empty if the manager has applied none. Of a map or list that the manifest gives as empty, and of what is left
// to others, only the presence counts.
func HashOwned(u, manifest *unstructured.Unstructured, manager string, ignored Ignored) (string, error) {
	set, err := owned(u, manager)
	if err != nil {
		return "", err
	}
	left, err := ignored.payload(u, manifest, manager)
	if err != nil {
		return "", err
	}
	set = set.Difference(left.fields)
	if set.Empty() && len(left.seen) == 0 {
		return "", nil
	}
	h, f := sha256.New(), newFinder()
	set.Iterate(func(p fieldpath.Path) {
		v, held := f.find(u.Object, p)
		desired, given := f.find(manifest.Object, p)
		// The parts of it that we own have paths of their own.
		parts := !below(set, p).Empty() || !below(left.fields, p).Empty() || p[len(p)-1].Key != nil
		if held && (parts || given && isEmpty(desired)) {
			v = true
		}
		sum := sha256.Sum256(append([]byte(p.String()+"="), encode(v)...))
		_, _ = h.Write(sum[:]) // It never fails.
	})
	if len(left.seen) > 0 {
		_, _ = h.Write(encode(left.seen))
	}
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

// identifying are the fields of a manifest that say which resource it is about. Nobody owns them.
var identifying = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"),
)

// Current reports whether a resource is as an apply of a manifest leaves it: it has the fields of the manifest, and the
// manager owns these and no others. It is for manifests without lists. It needs no record, which for a Secret would
// tell of its content.
func Current(live, manifest *unstructured.Unstructured, manager string) (bool, error) {
	held, err := owned(live, manager)
	if err != nil {
		return false, err
	}
	wanted := fieldpath.SetFromValue(value.NewValueInterface(manifest.Object)).Difference(identifying)
	same, f := held.Leaves().Equals(wanted), newFinder()
	wanted.Iterate(func(p fieldpath.Path) {
		want, _ := f.find(manifest.Object, p)
		got, ok := f.find(live.Object, p)
		same = same && ok && equality.Semantic.DeepEqual(want, got)
	})
	return same, nil
}
