package informer

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// A Key returns what a resource is found by with Keyed, empty for nothing.
type Key func(*unstructured.Unstructured) string

// A Table is a stream that is told of by the name of each resource that changes, and that is asked by name, namespace
// and key. What it returns is shared and must not be changed.
type Table struct {
	set  *Set
	feed *feed
	own  *listener
}

// A listener is who is told of each resource of a stream that changes. The feed's lock guards it.
type listener struct {
	changed func(types.NamespacedName) // nil for nobody
}

// Table joins the stream of an interest, or starts it. Close leaves it again. All Tables of one stream have the same
// key, which may be nil.
func (s *Set) Table(i Interest, key Key) *Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Table{set: s, feed: s.feed(keyOf(i)), own: &listener{}}
	t.feed.store.indexBy(key)
	t.feed.listen(t.own)
	return t
}

// Listen has changed called from now on with the name of each resource that has come, changed or gone. It must not
// block. In a stream of StreamAllWorkspaces the namespace is that of the resource behind its logical cluster and a
// slash. Of what is known already it is not told.
func (t *Table) Listen(changed func(types.NamespacedName)) {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	t.own.changed = changed
}

// Close leaves the stream. It stops if nobody else looks at it.
func (t *Table) Close() { t.leave(t.own) }

// leave ends the interest of a listener, and the stream with the last.
func (t *Table) leave(l *listener) {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.feed.unlisten(l) && t.set.feeds[t.feed.key] == t.feed {
		t.feed.cancel()
		delete(t.set.feeds, t.feed.key)
	}
}

// Await waits until the first list has arrived, the server has refused it, or the stream has ended, and returns what
// Ready does.
func (t *Table) Await(ctx context.Context) error {
	select {
	case <-t.feed.synced:
	case <-t.feed.ended:
	case <-ctx.Done():
	}
	return t.Ready()
}

// Ready returns nil if the stream shows what the server has. The error satisfies IsNotSynced or IsDenied. A stream that
// was denied is tried again soon: nobody reads live what a Table shows. One that has ended with its Set shows what was
// once there.
func (t *Table) Ready() error {
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	switch {
	case t.feed.over():
		return notSyncedError{resource: t.feed.key.resource}
	case t.feed.denied != nil:
		if time.Since(t.feed.when) >= retryFailed {
			t.feed.retry()
		}
		return deniedError{cause: t.feed.denied}
	case !t.feed.filled:
		return notSyncedError{resource: t.feed.key.resource}
	}
	return nil
}

// Get returns a resource, nil if it is not there.
func (t *Table) Get(n types.NamespacedName) *unstructured.Unstructured { return t.feed.store.get(n) }

// Names returns the names of all resources, in no order.
func (t *Table) Names() []types.NamespacedName { return t.feed.store.names() }

// Select returns the resources of a namespace that a selector selects, sorted by name.
func (t *Table) Select(namespace string, s labels.Selector) []*unstructured.Unstructured {
	all := t.feed.store.indexed(indexNamespace, namespace)
	return slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return !s.Matches(labels.Set(u.GetLabels())) })
}

// Keyed returns the resources with a key, sorted by name.
func (t *Table) Keyed(key string) []*unstructured.Unstructured {
	return t.feed.store.indexed(indexKey, key)
}

// Put adds the answer to a write, so that the next look sees it.
func (t *Table) Put(u *unstructured.Unstructured) { t.feed.store.answer(u) }

// Drop adds the answer to a write that has ended a resource, such as that of its last finalizer, so that the next look
// does not see it.
func (t *Table) Drop(u *unstructured.Unstructured) { t.feed.store.drop(u) }

// Until waits until a resource is as it is to be, or the context ends.
func (t *Table) Until(ctx context.Context, n types.NamespacedName, is func(*unstructured.Unstructured) bool) {
	changed := make(chan struct{}, 1)
	l := &listener{changed: func(m types.NamespacedName) {
		if m != n {
			return
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}}
	t.feed.listen(l)
	defer t.leave(l)
	for !is(t.Get(n)) {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (f *feed) listen(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[l] = struct{}{}
}

// unlisten reports whether nobody looks at the feed any more.
func (f *feed) unlisten(l *listener) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, l)
	return f.unused()
}

// unused reports whether nobody looks at the feed. The caller holds the lock.
func (f *feed) unused() bool { return len(f.owners)+len(f.listeners) == 0 }

// tell tells listeners of a change.
func (f *feed) tell(n types.NamespacedName) {
	f.mu.Lock()
	all := make([]func(types.NamespacedName), 0, len(f.listeners))
	for l := range f.listeners {
		if l.changed != nil {
			all = append(all, l.changed)
		}
	}
	f.mu.Unlock()
	for _, changed := range all {
		changed(n)
	}
}

func (s *store) names() []types.NamespacedName {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]types.NamespacedName, 0, len(s.items))
	for n := range s.items {
		out = append(out, n)
	}
	return out
}

// answer adds the answer to a write, and tells of it if it is news.
func (s *store) answer(u *unstructured.Unstructured) {
	n := s.name(u)
	s.mu.Lock()
	before := s.heldVersion(n)
	s.put(n, u)
	news := s.heldVersion(n) != before && s.told(n)
	s.mu.Unlock()
	if news {
		s.changed(n, Owner{})
	}
}

// drop forgets a resource by the answer to the write that has ended it, and tells of that if it is news.
func (s *store) drop(u *unstructured.Unstructured) {
	n := s.name(u)
	s.mu.Lock()
	held, ok := s.items[n]
	news := ok && !newer(held.GetResourceVersion(), u.GetResourceVersion())
	if news {
		delete(s.answers, n)
		s.set(n, nil)
		news = s.told(n)
	}
	s.mu.Unlock()
	if news {
		s.changed(n, Owner{})
	}
}
