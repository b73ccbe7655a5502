package objectsync_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A memory is one side without a server: it has what is put there. Of Secrets that are no states its cache holds
// metadata alone.
type memory struct {
	all         map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured
	made, reads int // how many UIDs and versions have been given, and how often it was read
}

func newMemory() *memory {
	return &memory{all: map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured{}}
}

func (m *memory) nextUID() types.UID {
	m.made++
	return types.UID(fmt.Sprint("uid ", m.made))
}

func (m *memory) side() objectsync.Side {
	return objectsync.Side{
		Cache: func(r schema.GroupVersionResource) objectsync.Cache { return memoryCache{m, r} }, Writer: m,
	}
}

func (m *memory) get(r schema.GroupVersionResource, n types.NamespacedName) *unstructured.Unstructured {
	return m.all[r][n]
}

func (m *memory) put(r schema.GroupVersionResource, u *unstructured.Unstructured) {
	if m.all[r] == nil {
		m.all[r] = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	m.all[r][client.ObjectKeyFromObject(u)] = u
}

// set sets a field of an object that is there.
func (m *memory) set(r schema.GroupVersionResource, namespace, name string, value any, field ...string) {
	u := m.get(r, types.NamespacedName{Namespace: namespace, Name: name}).DeepCopy()
	_ = unstructured.SetNestedField(u.Object, value, field...) // It is in objects.
	m.put(r, u)
}

func (m *memory) drop(r schema.GroupVersionResource, n types.NamespacedName) { delete(m.all[r], n) }

// Create is that of a writer.
func (m *memory) Create(_ context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if m.get(r, client.ObjectKeyFromObject(u)) != nil {
		return nil, apierrors.NewAlreadyExists(r.GroupResource(), u.GetName())
	}
	ns := types.NamespacedName{Name: u.GetNamespace()}
	if ns.Name != "" && ns.Name != "states" && m.get(objectsync.Namespaces, ns) == nil {
		return nil, apierrors.NewNotFound(objectsync.Namespaces.GroupResource(), ns.Name)
	}
	u = u.DeepCopy()
	u.SetUID(m.nextUID())
	u.SetResourceVersion(strconv.Itoa(m.made))
	m.put(r, u)
	return u, nil
}

// Patch is that of a writer.
func (m *memory) Patch(_ context.Context, o objectsync.Ref, patch []byte, _ ...string,
) (*unstructured.Unstructured, error) {
	u := m.get(o.GVR(), o.NamespacedName())
	if u == nil {
		return nil, apierrors.NewNotFound(o.GVR().GroupResource(), o.Name)
	}
	was, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	is, err := applied(was, patch)
	if err != nil {
		return nil, err
	}
	version := u.GetResourceVersion()
	u = &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(is); err != nil {
		return nil, err
	}
	if u.GetResourceVersion() != version {
		return nil, apierrors.NewConflict(o.GVR().GroupResource(), o.Name, errBoom)
	}
	m.made++
	u.SetResourceVersion(strconv.Itoa(m.made))
	if u.GetDeletionTimestamp() != nil && len(u.GetFinalizers()) == 0 {
		m.drop(o.GVR(), o.NamespacedName())
		return u, nil
	}
	m.put(o.GVR(), u)
	return u, nil
}

// applied returns what a patch makes of a document.
func applied(document, patch []byte) ([]byte, error) {
	if objectsync.PatchType(patch) == types.MergePatchType {
		return jsonpatch.MergePatch(document, patch)
	}
	steps, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	is, err := steps.Apply(document)
	if errors.Is(err, jsonpatch.ErrTestFailed) { // So does a server answer, without a kind.
		err = apierrors.NewGenericServerResponse(
			http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return is, err
}

// Delete is that of a writer.
func (m *memory) Delete(_ context.Context, o objectsync.Ref, _ types.UID, _ metav1.DeletionPropagation) error {
	m.drop(o.GVR(), o.NamespacedName())
	return nil
}

// Live is that of a writer.
func (m *memory) Live(_ context.Context, o objectsync.Ref) (*unstructured.Unstructured, error) {
	m.reads++
	if u := m.get(o.GVR(), o.NamespacedName()); u != nil {
		return u, nil
	}
	return nil, apierrors.NewNotFound(o.GVR().GroupResource(), o.Name)
}

type memoryCache struct {
	*memory

	resource schema.GroupVersionResource
}

// Get is that of a cache.
func (c memoryCache) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	return c.shown(c.get(c.resource, n)), nil
}

func (c memoryCache) shown(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil || c.resource != objectsync.Secrets || u.GetNamespace() == "states" {
		return u
	}
	return &unstructured.Unstructured{Object: map[string]any{"metadata": u.Object["metadata"]}}
}

// Select is that of a cache.
func (c memoryCache) Select(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for n, u := range c.all[c.resource] {
		if (namespace == "" || n.Namespace == namespace) && s.Matches(labels.Set(u.GetLabels())) {
			out = append(out, c.shown(u))
		}
	}
	return out, nil
}

// Copies is that of a cache.
func (c memoryCache) Copies(key string) ([]*unstructured.Unstructured, error) {
	return slices.DeleteFunc(slices.Collect(maps.Values(c.all[c.resource])),
		func(u *unstructured.Unstructured) bool { return objectsync.KeyOf(u) != key }), nil
}

// States is that of a cache.
func (c memoryCache) States(key string) ([]*unstructured.Unstructured, error) {
	return c.Copies(key)
}

// nobody holds anything.
type nobody struct{}

// Holdings is that of holders.
func (nobody) Holdings(string, objectsync.Ref) []objectsync.Holding { return nil }

// HasCopies is that of holders.
func (nobody) HasCopies(string, string) (bool, error) { return false, nil }

// IsCopy is that of holders.
func (nobody) IsCopy(objectsync.Ref) (bool, error) { return false, nil }

// Drop is that of holders.
func (nobody) Drop(objectsync.Holding) {}

// A write is about to be sent to a server.
type write struct {
	verb, namespace, name string
	patch                 []byte
	send                  func() error
}

// A tapped writer lets a test send each write, or not, and do something else before and after that.
type tapped struct {
	objectsync.Writer

	around func(w *write) error
}

// tap returns a side whose writes a test sends.
func tap(s objectsync.Side, around func(w *write) error) objectsync.Side {
	s.Writer = tapped{s.Writer, around}
	return s
}

func (t tapped) Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured,
) (answer *unstructured.Unstructured, err error) {
	w := &write{verb: "create", namespace: u.GetNamespace(), name: u.GetName()}
	w.send = func() error { answer, err = t.Writer.Create(ctx, r, u); return err }
	if err := t.around(w); err != nil || answer != nil {
		return answer, err
	}
	return u, nil // It is only said to be sent.
}

func (t tapped) Patch(ctx context.Context, o objectsync.Ref, patch []byte, subresources ...string,
) (answer *unstructured.Unstructured, err error) {
	w := &write{verb: "patch", namespace: o.Namespace, name: o.Name, patch: patch}
	w.send = func() error { answer, err = t.Writer.Patch(ctx, o, w.patch, subresources...); return err }
	if err := t.around(w); err != nil || answer != nil {
		return answer, err
	}
	return t.Live(ctx, o) // Likewise.
}

func (t tapped) Delete(ctx context.Context, o objectsync.Ref, uid types.UID, p metav1.DeletionPropagation) error {
	return t.around(&write{
		verb: "delete", namespace: o.Namespace, name: o.Name,
		send: func() error { return t.Writer.Delete(ctx, o, uid, p) },
	})
}

// A show says what a cache shows of an object that has a name, nil if there is none.
type show = func(n types.NamespacedName, u *unstructured.Unstructured) (*unstructured.Unstructured, error)

// A lens is a cache that shows something else.
type lens struct {
	objectsync.Cache

	show show
}

func (l lens) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	u, err := l.Cache.Get(n)
	if err != nil {
		return nil, err
	}
	return l.show(n, u)
}

// through returns a side where something else is shown of a resource.
func through(s objectsync.Side, of schema.GroupVersionResource, show show) objectsync.Side {
	all := s.Cache
	s.Cache = func(r schema.GroupVersionResource) objectsync.Cache {
		if r != of {
			return all(r)
		}
		return lens{all(r), show}
	}
	return s
}

// veil returns a side that does not show the Secret of a name, and says so if there is an error.
func veil(s objectsync.Side, name string, err error) objectsync.Side {
	return through(s, objectsync.Secrets,
		func(n types.NamespacedName, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if n.Name == name {
				return nil, err
			}
			return u, nil
		})
}

// blindTo returns a side where one resource cannot be looked at, or shows nothing if there is no error.
func blindTo(s objectsync.Side, r schema.GroupVersionResource, err error) objectsync.Side {
	return through(s, r, func(types.NamespacedName, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return nil, err
	})
}

// lately returns a side that shows an object as it is now, whatever becomes of it.
func (w *world) lately(s objectsync.Side, r schema.GroupVersionResource, n types.NamespacedName) objectsync.Side {
	w.Helper()
	was := w.read(s, objectsync.Resource{GroupVersionResource: r}, n)
	return through(s, r, func(_ types.NamespacedName, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if u != nil && u.GetUID() == was.GetUID() {
			return was, nil
		}
		return u, nil
	})
}
