package kcp

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	if value == "" {
		meta.RemoveAnnotations(d.next, key)
		return
	}
	meta.AddAnnotations(d.next, map[string]string{key: value})
}

// SetDefaultAnnotation sets an annotation unless the APIExport has it.
func (d *Draft) SetDefaultAnnotation(key, value string) {
	if _, ok := d.next.GetAnnotations()[key]; !ok {
		d.SetAnnotation(key, value)
	}
}

// SetLocalPolicy makes RBAC in the workspace of the APIExport the upper bound of what consumers may do.
func (d *Draft) SetLocalPolicy() { d.set(map[string]any{"local": map[string]any{}}, fieldPolicy) }

// Schema returns the name of the schema by which a resource is exported, empty if it is not.
func (d *Draft) Schema(r schema.GroupResource) string { return SchemaOf(d.next, r) }

// SchemaOf returns the name of the schema by which an APIExport exports a resource, empty if it does not.
func SchemaOf(export *unstructured.Unstructured, r schema.GroupResource) string {
	return textOf(find(entriesOf(export, fieldResources), "name", r), "schema")
}

// SetSchema exports a resource by a schema. It fails if the resource is exported otherwise than by a schema that
// describes what is stored, which is somebody else's doing.
func (d *Draft) SetSchema(r schema.GroupResource, name string) error {
	entries := d.entries(fieldResources)
	entry := find(entries, "name", r)
	if entry == nil {
		entry = map[string]any{"name": r.Resource, "group": r.Group, "storage": map[string]any{"crd": map[string]any{}}}
		entries = append(entries, entry)
	}
	if _, virtual, _ := unstructured.NestedMap(entry, "storage", "virtual"); virtual {
		return errors.Errorf("the APIExport already offers %s from virtual storage: publish the API in another APIExport", r)
	}
	entry["schema"] = name
	d.setEntries(fieldResources, entries)
	return nil
}

// RemoveResource exports a resource no more.
func (d *Draft) RemoveResource(r schema.GroupResource) { d.remove(fieldResources, "name", r) }

// remove removes the entry of a resource from a list of the spec. The entries name it in a field.
func (d *Draft) remove(list, field string, r schema.GroupResource) {
	if entries := d.entries(list); find(entries, field, r) != nil {
		d.setEntries(list, slices.DeleteFunc(entries, func(e map[string]any) bool { return isOf(e, field, r) }))
	}
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

func (d *Draft) setEntries(list string, entries []map[string]any) {
	all := make([]any, 0, len(entries))
	for _, e := range entries {
		all = append(all, e)
	}
	d.set(all, list)
}

// set sets a field of the spec, which is an object.
func (d *Draft) set(value any, field string) {
	_ = unstructured.SetNestedField(d.next.Object, value, "spec", field)
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

func textOf(entry map[string]any, field ...string) string {
	s, _, _ := unstructured.NestedString(entry, field...)
	return s
}

// conflictPause is the longest pause before a Change is made again on what somebody else has written.
const conflictPause = 50 * time.Millisecond

// An ExportClient is where an APIExport is, and how it is reached.
type ExportClient struct {
	// Server is the URL of the workspace.
	Server string
	// Name of the APIExport.
	Name string
	// Read returns the APIExport as it was last seen, nil if it is thought not to exist. It should show what a Writer
	// has written.
	Read func(context.Context) (*unstructured.Unstructured, error)
	// Client writes APIExports of v1alpha2.
	Client dynamic.ResourceInterface
	// Put takes in what the server answers to a write, before anybody reads again.
	Put func(answer *unstructured.Unstructured)
	// MayCreate allows to create the APIExport.
	MayCreate bool
}

// ErrNoExport is the cause of the error if an APIExport does not exist and must not be created.
var ErrNoExport = errors.New("APIExport does not exist: create it, or set apiExport.create")

// A Writer makes Changes to APIExports, one at a time to each. Its methods may be called concurrently.
type Writer struct {
	locks sync.Map // *sync.Mutex by server and name of an APIExport
}

// Write makes a Change to an APIExport until it is written on what is there, and returns the APIExport as it is then.
func (w *Writer) Write(ctx context.Context, p ExportClient, c Change) (*unstructured.Unstructured, error) {
	lock, _ := w.locks.LoadOrStore([2]string{p.Server, p.Name}, &sync.Mutex{})
	mu, _ := lock.(*sync.Mutex)
	mu.Lock()
	defer mu.Unlock()
	u, err := p.Read(ctx)
	for err == nil {
		var written *unstructured.Unstructured
		written, err = write(ctx, p, u, c)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && (u == nil || !apierrors.IsNotFound(err)) {
			return written, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Wrapf(err, "cannot write APIExport %q, which other clients change all the time", p.Name)
		case <-time.After(rand.N(conflictPause)): //nolint:gosec // Pauses need no secrecy.
		}
		if u, err = p.Client.Get(ctx, p.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			u, err = nil, nil
		}
	}
	return nil, errors.Wrapf(err, "cannot get APIExport %q", p.Name)
}

// write makes a Change once. It sends nothing if the Change changes nothing.
func write(
	ctx context.Context, p ExportClient, u *unstructured.Unstructured, c Change,
) (*unstructured.Unstructured, error) {
	if u == nil && !p.MayCreate {
		return nil, errors.Wrapf(ErrNoExport, "cannot write APIExport %q", p.Name)
	}
	d := NewDraft(p.Name, u)
	if err := c(d); err != nil {
		return nil, err
	}
	if !d.Changed() {
		return u, nil
	}
	answer, err := send(ctx, p, d)
	if err == nil {
		p.Put(answer)
	}
	return answer, err
}

func send(ctx context.Context, p ExportClient, d *Draft) (*unstructured.Unstructured, error) {
	if d.base == nil {
		u, err := p.Client.Create(ctx, d.next, metav1.CreateOptions{})
		return u, errors.Wrapf(err, "cannot create APIExport %q", p.Name)
	}
	patch, err := client.MergeFromWithOptions(d.base, client.MergeFromWithOptimisticLock{}).Data(d.next)
	if err != nil {
		return nil, errors.Wrap(err, "cannot encode patch of APIExport")
	}
	u, err := p.Client.Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return u, errors.Wrapf(err, "cannot patch APIExport %q", p.Name)
}
