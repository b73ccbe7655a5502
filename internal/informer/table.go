package informer

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// untilEvery is how often a copy is looked at that is to change soon.
const untilEvery = 10 * time.Millisecond

// A Key returns what a resource is found by with Keyed.
type Key func(*unstructured.Unstructured) string

// A Table shows all of a stream, and tells of each resource that changes. What it returns is shared and must not be
// changed. In a stream of StreamAllWorkspaces, namespaces are behind the logical cluster and a slash.
type Table struct {
	set      *Set
	stream   *stream
	listener listener
}

// Table joins the stream of a watch request, or starts it. Close leaves it again. All Tables of one stream have the
// same key, which may be nil.
func (s *Set) Table(i WatchRequest, key Key) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stream(i)
	by := func(key Key) cache.IndexFunc {
		return func(o any) ([]string, error) {
			u, _ := o.(*unstructured.Unstructured)
			return []string{key(u)}, nil
		}
	}
	indexers := cache.Indexers{
		indexNamespace: by(func(u *unstructured.Unstructured) string { return st.store.name(u).Namespace }),
	}
	if key != nil {
		indexers[indexKey] = by(key)
	}
	_ = st.store.items.AddIndexers(indexers) // The only error is that another Table has done so.
	t := &Table{set: s, stream: st}
	st.tables[&t.listener] = struct{}{}
	return t
}

// Listen has changed called from now on with the name of each resource that has come, changed or gone. It must not
// block. Of what is known already it is not told.
func (t *Table) Listen(changed func(types.NamespacedName)) { t.listener.Store(&changed) }

// Close leaves the stream. It stops if nobody else looks at it.
func (t *Table) Close() {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	delete(t.stream.tables, &t.listener)
	t.set.leave(t.stream)
}

// Await waits until the first list has arrived, the server has refused it, or the stream has ended, and returns what
// Ready does.
func (t *Table) Await(ctx context.Context) error {
	select {
	case <-t.stream.synced:
	case <-t.stream.ctx.Done():
	case <-ctx.Done():
	}
	return t.Ready()
}

// Ready returns nil if the stream shows what the server has. The error satisfies IsNotSynced or IsDenied. A stream that
// was denied is tried again soon: nobody reads live what a Table shows. One that has ended is not ready.
func (t *Table) Ready() error {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	return t.stream.ready()
}

// Resource returns the resource of the stream.
func (t *Table) Resource() schema.GroupResource { return t.stream.key.Resource.GroupResource() }

// Get returns a resource, nil if it is not there.
func (t *Table) Get(n types.NamespacedName) *unstructured.Unstructured {
	return t.stream.store.get(n)
}

// Names returns the names of all resources, sorted by namespace and name.
func (t *Table) Names() []types.NamespacedName { return t.stream.store.names() }

// Select returns the resources of a namespace that a selector selects, sorted by name.
func (t *Table) Select(namespace string, s labels.Selector) []*unstructured.Unstructured {
	return slices.DeleteFunc(t.stream.store.find(indexNamespace, namespace),
		func(u *unstructured.Unstructured) bool { return !s.Matches(labels.Set(u.GetLabels())) })
}

// Keyed returns the resources with a key, sorted by namespace and name.
func (t *Table) Keyed(key string) []*unstructured.Unstructured {
	return t.stream.store.find(indexKey, key)
}

// Put adds the answer to a write, so that the next look sees it.
func (t *Table) Put(u *unstructured.Unstructured) { t.stream.store.put(Owner{}, u) }

// Drop adds the answer to a write that has ended a resource, such as that of its last finalizer, so that the next look
// does not see it.
func (t *Table) Drop(u *unstructured.Unstructured) {
	t.stream.store.remove(t.stream.store.name(u), func(held *unstructured.Unstructured) bool {
		return !newer(held.GetResourceVersion(), u.GetResourceVersion())
	})
}

// Until waits until a resource is as it is to be, or the context ends.
func (t *Table) Until(ctx context.Context, n types.NamespacedName, is func(*unstructured.Unstructured) bool) {
	_ = wait.PollUntilContextCancel(ctx, untilEvery, true, // It is so, or the context has ended.
		func(context.Context) (bool, error) { return is(t.Get(n)), nil })
}

// Renew lists again what the stream shows, and tells of what has changed, be it of the same resource version: servers
// show a resource by the schema they had when the stream began.
func (t *Table) Renew() {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	t.stream.end(errRenewed)
}
