// Package sides gives tests the sides of a synchronization. It is for _test.go files only.
//
// A side reads from the server whenever it is asked, which stands for a cache that a watch has filled, and shows each
// write at once. It writes as a user of its own, so that what a synchronization asks of a server can be counted.
package sides

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// Of returns a side that reads as one user and writes as another.
func Of(tb testing.TB, reader, writing *rest.Config) objectsync.Side {
	tb.Helper()
	r, err := dynamic.NewForConfig(quick(reader))
	if err != nil {
		tb.Fatal(err)
	}
	w, err := dynamic.NewForConfig(quick(writing))
	if err != nil {
		tb.Fatal(err)
	}
	return objectsync.Side{
		Cache:  func(gvr schema.GroupVersionResource) objectsync.Cache { return cache{tb.Context(), r.Resource(gvr)} },
		Writer: &writer{w},
	}
}

// ShowsAll is told of a workspace that hides nothing.
func ShowsAll(schema.GroupResource) bool { return true }

// quick returns a configuration without a limit of its own.
func quick(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	return cfg
}

// A cache reads from the server what a watch would have told.
type cache struct {
	ctx    context.Context
	client dynamic.NamespaceableResourceInterface
}

// Get is that of a cache.
func (c cache) Get(n types.NamespacedName) (*unstructured.Unstructured, error) {
	u, err := c.client.Namespace(n.Namespace).Get(c.ctx, n.Name, metav1.GetOptions{})
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		u = nil
	}
	return u, nil
}

// Select is that of a cache.
func (c cache) Select(namespace string, s labels.Selector) ([]*unstructured.Unstructured, error) {
	l, err := c.client.Namespace(namespace).List(c.ctx, metav1.ListOptions{LabelSelector: s.String()})
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for i := range l.Items {
		out = append(out, &l.Items[i])
	}
	return out, nil
}

// Copies is that of a cache.
func (c cache) Copies(key string) ([]*unstructured.Unstructured, error) {
	all, err := c.Select("", labels.Everything())
	return slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return objectsync.KeyOf(u) != key }), err
}

// States is that of a cache.
func (c cache) States(key string) ([]*unstructured.Unstructured, error) {
	all, err := c.Select("", labels.Everything())
	return slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return objectsync.KeyOf(u) != key }), err
}

// A writer writes with a client of its own.
type writer struct{ client dynamic.Interface }

// Create is that of a writer.
func (w *writer) Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	options := metav1.CreateOptions{}
	for _, by := range u.GetManagedFields() {
		options.FieldManager = by.Manager
	}
	return w.client.Resource(r).Namespace(u.GetNamespace()).Create(ctx, u, options)
}

// Patch is that of a writer.
func (w *writer) Patch(ctx context.Context, o objectsync.Ref, patch []byte, subresources ...string,
) (*unstructured.Unstructured, error) {
	return w.client.Resource(o.GVR()).Namespace(o.Namespace).Patch(ctx, o.Name, objectsync.PatchType(patch), patch,
		metav1.PatchOptions{}, subresources...)
}

// Delete is that of a writer.
func (w *writer) Delete(ctx context.Context, o objectsync.Ref, uid types.UID, p metav1.DeletionPropagation) error {
	options := metav1.DeleteOptions{}
	if p != "" {
		options.PropagationPolicy = &p
	}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return w.client.Resource(o.GVR()).Namespace(o.Namespace).Delete(ctx, o.Name, options)
}

// Live is that of a writer.
func (w *writer) Live(ctx context.Context, o objectsync.Ref) (*unstructured.Unstructured, error) {
	return w.client.Resource(o.GVR()).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
}
