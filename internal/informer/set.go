package informer

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// patience is how long Get waits for a first list.
const patience = 250 * time.Millisecond

// Options of a Set.
type Options struct {
	// Selector is the label selector of the streams that carry more than one resource.
	Selector string
	// Metadata is the client of the streams that carry names only.
	Metadata metadata.Interface
	// Wake is called when a resource an owner is interested in has changed. It must not block.
	Wake func(Owner)
	// WentBack is called, if set, when the cluster has gone back in its history, as after a restore of its etcd: once
	// for all streams that notice it. It must not block.
	WentBack func()
	// PageSize is how many resources a page of a list has that does not come as a stream. Zero asks for whole lists,
	// which API servers keep at hand, while most read pages from etcd. The requests for all pages of a list share its
	// ListSize.
	PageSize int64
	// MaxBytes is about how many bytes all streams may hold together, zero for no bound. A stream whose list has no
	// room counts as denied, and one that has none for a change lists again.
	MaxBytes int64
	// Interner shares the memory of what other Sets hold, too. Nil shares nothing.
	Interner *Interner

	budget   *budget
	streams  func() int
	kicked   time.Time // the Set was kicked last
	wentBack func()    // called by each stream that notices that the cluster has gone back
}

// restoreMost is how long streams may take to notice the same restore: a stream that is denied is tried again each
// minute.
const restoreMost = 2 * retryDenied

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
	s := &Set{
		client: c, options: o, ctx: ctx, cancel: cancel,
		feeds: map[feedKey]*feed{}, interests: map[Owner]map[Purpose][]Interest{},
	}
	s.options.budget, s.options.streams = newBudget(o.MaxBytes), s.streams
	s.options.wentBack = onceFor(restoreMost, s.wentBack)
	return s
}

// streams returns how many streams there are.
func (s *Set) streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.feeds)
}

// wentBack reports that the cluster has gone back in its history, and lists all again: a stream that had not come far
// may have resumed where others have seen a history that is gone.
func (s *Set) wentBack() {
	s.mu.Lock()
	for _, f := range s.feeds {
		f.round.renew()
	}
	s.mu.Unlock()
	if s.options.WentBack != nil {
		s.options.WentBack()
	}
}

// Track makes the given interests all that an owner has for a purpose. Streams start when they get their first owner
// and stop when they lose their last.
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

// Denied reports whether the server is known to refuse the stream of an interest.
func (s *Set) Denied(i Interest) bool {
	s.mu.Lock()
	f := s.feeds[keyOf(i)]
	s.mu.Unlock()
	return f != nil && f.isDenied()
}

// Get returns the resource an owner is interested in, nil if the cluster does not hold it. The result is shared: it
// must not be changed. An error satisfies IsNotSynced or IsDenied. The interest must have been tracked; if not, Get
// reports not synced.
func (s *Set) Get(ctx context.Context, o Owner, i Interest) (*unstructured.Unstructured, error) {
	f, err := s.filled(ctx, o, i)
	if err != nil {
		return nil, err
	}
	return f.store.get(i.NamespacedName), nil
}

// List returns all resources of the stream of an interest, sorted by name, under the conditions of Get.
func (s *Set) List(ctx context.Context, o Owner, i Interest) ([]*unstructured.Unstructured, error) {
	f, err := s.filled(ctx, o, i)
	if err != nil {
		return nil, err
	}
	return f.store.list(), nil
}

// filled returns the stream of an interest once it has delivered its first list.
func (s *Set) filled(ctx context.Context, o Owner, i Interest) (*feed, error) {
	s.mu.Lock()
	f := s.feeds[keyOf(i)]
	s.mu.Unlock()
	if f == nil {
		return nil, notSyncedError{resource: i.Resource}
	}
	return f, f.await(ctx, o, patience)
}

// Names returns the names of the resources of a selection, sorted. The result is shared: it must not be changed. All
// who are interested in the selection are woken when a name comes or goes, and not when a resource changes otherwise.
// Errors are those of Get.
func (s *Set) Names(ctx context.Context, o Owner, i Interest) ([]types.NamespacedName, error) {
	s.mu.Lock()
	f := s.feeds[keyOf(i)]
	s.mu.Unlock()
	if f == nil || f.names == nil {
		return nil, notSyncedError{resource: i.Resource}
	}
	if err := f.await(ctx, o, patience); err != nil {
		return nil, err
	}
	return f.names.sorted(), nil
}

// Writing says that an owner begins to write a resource. The function it returns must be called when the write is over,
// with the answer of the server or nil if there is none. The next Get then sees the answer; its echo from the stream,
// before or after, does not wake the owner, while other owners of the resource are woken. The Set keeps the answer.
func (s *Set) Writing(o Owner, r schema.GroupVersionResource,
	n types.NamespacedName,
) (done func(answer *unstructured.Unstructured)) {
	stores := s.carriers(r, n)
	for _, st := range stores {
		st.begin(n)
	}
	return func(answer *unstructured.Unstructured) {
		for _, st := range stores {
			st.end(n, o, answer)
		}
	}
}

// Gone reports that the server has answered that a resource does not exist any more. A watch may lag behind, or be kept
// open by a proxy that has lost the server. Owners of the resource are woken.
func (s *Set) Gone(r schema.GroupVersionResource, n types.NamespacedName, uid types.UID) {
	for _, st := range s.carriers(r, n) {
		st.remove(n, uid)
	}
}

// carriers returns the stores of the streams that carry a resource.
func (s *Set) carriers(r schema.GroupVersionResource, n types.NamespacedName) []*store {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stores []*store
	for _, k := range []feedKey{
		{resource: r},
		{resource: r, namespace: n.Namespace},
		{resource: r, namespace: n.Namespace, name: n.Name},
	} {
		if f, ok := s.feeds[k]; ok && !slices.Contains(stores, f.store) {
			stores = append(stores, f.store)
		}
	}
	return stores
}

// Kick makes streams that rest after a failure try again now, as the cluster may answer otherwise than it did.
func (s *Set) Kick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.kicked = time.Now()
	for _, f := range s.feeds {
		f.restart()
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
