package sync_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// kindsAtOnce is how many hostile workspaces write at a time: more are too much for kcp on two cores.
	kindsAtOnce = 4
	// changedMost is how many objects each of them changes.
	changedMost = 25
	// triesMost is how often a request of a hostile workspace is tried that its server gives up.
	triesMost = 10
)

// hostileObjects are what hostile workspaces have, by the way in which that costs much.
var hostileObjects = map[string]func(s *shop) []client.Object{
	// Deeper than can be read, and as deep as can.
	"Deep":   func(s *shop) []client.Object { return s.hats(2, "more", build.Nested(5000)) },
	"Nested": func(s *shop) []client.Object { return s.hats(5, "more", build.Nested(990)) },
	"DeepSecrets": func(s *shop) []client.Object {
		return append(secrets(2, func(u *corev1.Secret) { u.ManagedFields = deepFields(3000) }),
			s.naming("keyName", 2)...)
	},
	// More values than can be read, and many that can.
	"Lists":  func(s *shop) []client.Object { return s.hats(2, "more", emptyLists(480_000)) },
	"Values": func(s *shop) []client.Object { return s.hats(2, "more", emptyLists(250_000)) },
	// Bytes that are six times as many in JSON: more than can be read, and as many as can, in use and not.
	"Escaped": func(s *shop) []client.Object { return append(escaped(3, 1400<<10), s.naming("keyName", 3)...) },
	"Long":    func(s *shop) []client.Object { return append(escaped(25, 1340<<10), s.naming("keyName", 5)...) },
	"Unused": func(*shop) []client.Object {
		return secrets(100, func(u *corev1.Secret) { u.Data["key"] = []byte(strings.Repeat("a", 1<<20-64)) })
	},
	"Names": func(s *shop) []client.Object {
		names := make([]any, 1000)
		for i := range names {
			names[i] = fmt.Sprintf("n%d", i)
		}
		return s.hats(20, "keys", names)
	},
}

// hostileKinds are the ways in which workspaces cost much, without one that comes first.
func hostileKinds() []string {
	all := slices.Sorted(maps.Keys(hostileObjects))
	return slices.DeleteFunc(all, func(name string) bool { return name == "Unused" })
}

// hats returns Hats with a value in a field of the spec.
func (s *shop) hats(n int, field string, value any) []client.Object {
	var all []client.Object
	for i := range n {
		u := s.hat(fmt.Sprintf("hat-%03d", i))
		u.Object["spec"].(map[string]any)[field] = value
		all = append(all, u)
	}
	return all
}

// naming returns Hats that name one Secret each, in a field of the spec.
func (s *shop) naming(field string, n int) []client.Object {
	all := s.hats(n, "", nil)
	for i, o := range all {
		o.(*unstructured.Unstructured).Object["spec"] = map[string]any{"size": "L", field: secretName(i)}
	}
	return all
}

func secretName(i int) string { return fmt.Sprintf("secret-%03d", i) }

func secrets(n int, with func(*corev1.Secret)) []client.Object {
	var all []client.Object
	for i := range n {
		u := secretIn(metav1.NamespaceDefault, secretName(i), "a")
		with(u)
		all = append(all, u)
	}
	return all
}

// escaped returns Secrets of a size in bytes. In JSON they are six times as large.
func escaped(n, size int) []client.Object {
	return secrets(n, func(u *corev1.Secret) { u.Type = corev1.SecretType(strings.Repeat("<", size)) })
}

func emptyLists(n int) []any { return slices.Repeat([]any{[]any{}}, n) }

// deepFields are managed fields of so many levels.
func deepFields(levels int) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: "deep", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{
			Raw: []byte(strings.Repeat(`{"f:a":`, levels) + "{}" + strings.Repeat("}", levels)),
		},
	}}
}

// hostiles are hostile workspaces. Of each kind there is one.
type hostiles struct {
	*shop

	in  map[string]consumer
	has map[string][]client.Object
}

// newHostiles makes the workspaces, which are empty.
func newHostiles(t *testing.T, s *shop) *hostiles {
	t.Helper()
	h := &hostiles{shop: s, in: map[string]consumer{}, has: map[string][]client.Object{}}
	for kind := range hostileObjects {
		h.in[kind] = s.bind(t)
		kube.Eventually(t, "the API in a workspace", func() (bool, string) {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(s.hat("").GroupVersionKind())
			err := h.in[kind].List(t.Context(), list)
			return err == nil, fmt.Sprint(err)
		})
	}
	return h
}

// come fills workspaces of some kinds.
func (h *hostiles) come(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		h.has[kind] = hostileObjects[kind](h.shop)
	}
	if err := h.each(kinds, math.MaxInt, func(kind string, o client.Object) error {
		return client.IgnoreAlreadyExists(h.in[kind].Create(t.Context(), o))
	}); err != nil {
		t.Fatal(err)
	}
}

// change changes what the workspaces have, of each up to changedMost objects.
func (h *hostiles) change(ctx context.Context) error {
	body := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`))
	return h.each(slices.Collect(maps.Keys(h.has)), changedMost, func(kind string, o client.Object) error {
		u := &metav1.PartialObjectMetadata{ObjectMeta: build.Meta(o.GetNamespace(), o.GetName())}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		if hat, ok := o.(*unstructured.Unstructured); ok {
			u.SetGroupVersionKind(hat.GroupVersionKind())
		}
		return h.in[kind].Patch(ctx, u, body)
	})
}

// each does something for objects of workspaces of some kinds, of each up to a number, and of several kinds at a time.
// A server that is busy gives it up at times.
func (h *hostiles) each(kinds []string, most int, do func(kind string, o client.Object) error) error {
	g := errgroup.Group{}
	g.SetLimit(kindsAtOnce)
	for _, kind := range kinds {
		g.Go(func() error {
			for _, o := range h.has[kind][:min(most, len(h.has[kind]))] {
				err := do(kind, o)
				for tries := 1; tries < triesMost && (apierrors.IsTimeout(err) || apierrors.IsInternalError(err)); tries++ {
					err = do(kind, o)
				}
				if err != nil {
					return errors.Wrapf(err, "%s of %s", o.GetName(), kind)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// awaitAll waits until each object of the hostile workspaces is synced or has failed.
func (h *hostiles) awaitAll(t *testing.T) {
	t.Helper()
	n := int64(0)
	for _, all := range h.has {
		for _, o := range all {
			if _, ok := o.(*unstructured.Unstructured); ok {
				n++
			}
		}
	}
	o := &v1alpha1.PublishedResource{}
	kube.EventuallyBy(t, patience, "all objects of hostile workspaces to be synced or to fail", func() (bool, string) {
		name := strings.TrimSuffix(h.group, ".example.com")
		if err := h.c.Get(t.Context(), types.NamespacedName{Name: name}, o); err != nil {
			return false, err.Error()
		}
		c := o.Status.Objects
		return c != nil && c.Synced+c.Failed >= n, fmt.Sprintf("%d: %+v", n, c)
	})
	t.Logf("%d objects are synced, and %d have failed", o.Status.Objects.Synced, o.Status.Objects.Failed)
}
