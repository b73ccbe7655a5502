package objectsync_test

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

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

func (t tapped) Create(ctx context.Context, r schema.GroupVersionResource, u *unstructured.Unstructured) error {
	return t.around(&write{
		verb: "create", namespace: u.GetNamespace(), name: u.GetName(),
		send: func() error { return t.Writer.Create(ctx, r, u) },
	})
}

func (t tapped) Patch(ctx context.Context, o objectsync.Ref, patch []byte, subresources ...string) error {
	w := &write{verb: "patch", namespace: o.Namespace, name: o.Name, patch: patch}
	w.send = func() error { return t.Writer.Patch(ctx, o, w.patch, subresources...) }
	return t.around(w)
}

func (t tapped) Delete(ctx context.Context, o objectsync.Ref, uid types.UID) error {
	return t.around(&write{
		verb: "delete", namespace: o.Namespace, name: o.Name,
		send: func() error { return t.Writer.Delete(ctx, o, uid) },
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
