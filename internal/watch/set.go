package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// patience is how long Get waits for a first list.
const patience = 250 * time.Millisecond

// Options of a Set.
type Options struct {
	// Selector is the label selector of the streams that carry more than one resource.
	Selector string
	// Wake is called when a resource an owner is interested in has changed. It must not block.
	Wake func(Owner)
}

// A Set is all streams of one cluster. Its methods may be called concurrently.
type Set struct {
	client  dynamic.Interface
	options Options
	ctx     context.Context //nolint:containedctx // The Set's own life, which its feeds share.
	cancel  context.CancelFunc

	mu        sync.Mutex
	feeds     map[feedKey]*feed
	interests map[Owner]map[Purpose][]Interest
}

// NewSet returns a Set without streams. Close ends it.
func NewSet(c dynamic.Interface, o Options) *Set {
	ctx, cancel := context.WithCancel(context.Background())
	return &Set{
		client: c, options: o, ctx: ctx, cancel: cancel,
		feeds: map[feedKey]*feed{}, interests: map[Owner]map[Purpose][]Interest{},
	}
}

// Track makes the given interests all that an owner has for a purpose. Streams start when they get their first owner and stop when
// they lose their last.
func (s *Set) Track(o Owner, p Purpose, interests ...Interest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.interests[o][p], interests) {
		return
	}
	for _, i := range interests {
		s.feed(keyOf(i)).add(i.NamespacedName, o)
	}
	s.release(o, s.interests[o][p])
	if s.interests[o] == nil {
		s.interests[o] = map[Purpose][]Interest{}
	}
	s.interests[o][p] = interests
}

// Forget drops all interests of an owner.
func (s *Set) Forget(o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, interests := range s.interests[o] {
		s.release(o, interests)
	}
	delete(s.interests, o)
}

// Get returns the resource an owner is interested in, nil if the cluster does not hold it. The result is shared: it must not be
// changed. An error satisfies IsNotSynced or IsDenied. The interest must have been tracked; if not, Get reports not synced.
func (s *Set) Get(ctx context.Context, o Owner, i Interest) (*unstructured.Unstructured, error) {
	s.mu.Lock()
	f := s.feeds[keyOf(i)]
	s.mu.Unlock()
	if f == nil {
		return nil, notSyncedError{resource: i.Resource}
	}
	if err := f.await(ctx, o, patience); err != nil {
		return nil, err
	}
	return f.store.get(i.NamespacedName), nil
}

// Put adds the answer to a write to every stream that will carry it, so that the next Get sees it. The Set keeps the object.
func (s *Set) Put(r schema.GroupVersionResource, u *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range []feedKey{
		{resource: r},
		{resource: r, namespace: u.GetNamespace()},
		{resource: r, namespace: u.GetNamespace(), name: u.GetName()},
	} {
		if f, ok := s.feeds[k]; ok {
			f.store.put(u)
		}
	}
}

// Kick makes streams that rest after a failure try again now.
func (s *Set) Kick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.feeds {
		select {
		case f.kick <- struct{}{}:
		default:
		}
	}
}

// Close stops all streams.
func (s *Set) Close() { s.cancel() }

// feed returns the stream of a key, started if need be. The caller holds the lock.
func (s *Set) feed(k feedKey) *feed {
	f, ok := s.feeds[k]
	if !ok {
		f = newFeed(s.ctx, s.client, k, s.options)
		s.feeds[k] = f
	}
	return f
}

// release ends interests of an owner. The caller holds the lock.
func (s *Set) release(o Owner, interests []Interest) {
	for _, i := range interests {
		k := keyOf(i)
		f, ok := s.feeds[k]
		if ok && f.drop(i.NamespacedName, o) {
			f.cancel()
			delete(s.feeds, k)
		}
	}
}
