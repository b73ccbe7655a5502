package informer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A Set is all streams of one cluster. Its methods may be called concurrently.
type Set struct {
	client   dynamic.Interface
	options  Options
	ctx      context.Context //nolint:containedctx // The Set's own life, which its streams share.
	cancel   context.CancelFunc
	restored rate.Sometimes

	mu       sync.Mutex               // guards who looks at streams, too
	kicked   time.Time                // when the Set was kicked last
	streams  map[WatchRequest]*stream // by what all of their watch requests have in common
	watchers map[Owner]*watcher
}

// A watcher is an owner and what it looks at. There are as many as Objects, so streams hold pointers to them.
type watcher struct {
	Owner

	tracked []tracked
}

// tracked are the watch requests of an owner for one purpose: first those that it has looked at since the last Done.
type tracked struct {
	purpose       Purpose
	watchRequests []WatchRequest
	looked        int
	early         bool // since then it has waited in vain for a first list
}

// of returns the watch requests for a purpose, which may be none.
func (w *watcher) of(p Purpose) *tracked {
	i := slices.IndexFunc(w.tracked, func(t tracked) bool { return t.purpose == p })
	if i < 0 {
		i, w.tracked = len(w.tracked), append(w.tracked, tracked{purpose: p})
	}
	return &w.tracked[i]
}

// NewSet returns a Set without streams. Close ends it.
func NewSet(c dynamic.Interface, o Options) *Set {
	s := &Set{
		client: c, options: o, restored: rate.Sometimes{Interval: restoreMost},
		streams: map[WatchRequest]*stream{}, watchers: map[Owner]*watcher{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// track has an owner woken when what a watch request shows changes, and returns its stream and whether to wait for
// that. Streams start when they get their first owner and stop when they lose their last.
func (s *Set) track(o Owner, p Purpose, i WatchRequest) (st *stream, wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchers[o]
	if w == nil {
		w = &watcher{Owner: o}
		s.watchers[o] = w
	}
	t, st := w.of(p), s.stream(i)
	at := slices.Index(t.watchRequests, i)
	if at < 0 {
		at, t.watchRequests = len(t.watchRequests), append(t.watchRequests, i)
		st.count(i, w, 1)
	}
	if at >= t.looked {
		t.watchRequests[at], t.watchRequests[t.looked] = t.watchRequests[t.looked], t.watchRequests[at]
		t.looked++
	}
	return st, !t.early
}

// Done says that an owner has looked at all that it needs for a purpose: what it has not looked at since the last time
// wakes it no more.
func (s *Set) Done(o Owner, p Purpose) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watchers[o]; w != nil {
		t := w.of(p)
		s.release(w, t.watchRequests[t.looked:])
		t.watchRequests = slices.Delete(t.watchRequests, t.looked, len(t.watchRequests))
		t.looked, t.early = 0, false
	}
}

// Wakes reports whether an owner is woken when what a watch request shows changes, for a purpose.
func (s *Set) Wakes(o Owner, p Purpose, i WatchRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watchers[o]
	return w != nil && slices.Contains(w.of(p).watchRequests, i)
}

// Forget drops all watch requests of an owner.
func (s *Set) Forget(o Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watchers[o]; w != nil {
		for _, t := range w.tracked {
			s.release(w, t.watchRequests)
		}
	}
	delete(s.watchers, o)
}

// Get returns the resource an owner is interested in, nil if the cluster does not hold it. From then on the owner is
// woken when that changes, see Done. The result is shared: it must not be changed. An error satisfies IsNotSynced or
// IsDenied, or is that of Unreadable.
func (s *Set) Get(ctx context.Context, o Owner, p Purpose, i WatchRequest) (u *unstructured.Unstructured, err error) {
	err = s.look(ctx, o, p, i, func(st *store) { u = unpacked(st.get(i.NamespacedName)) })
	if u != nil && err == nil {
		err = Unreadable(u)
	}
	return u, err
}

// List returns all resources of the stream of a watch request, sorted by namespace and name, under the conditions of
// Get. Some may be Unreadable. Beside an error of IsFailing it returns those that the stream has shown before.
func (s *Set) List(ctx context.Context, o Owner, p Purpose, i WatchRequest,
) (all []*unstructured.Unstructured, err error) {
	read := func(st *store) {
		all = st.find("", "")
		for i, u := range all {
			all[i] = unpacked(u)
		}
	}
	if err = s.look(ctx, o, p, i, read); IsFailing(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if st := s.streams[i.key()]; st != nil {
			read(st.store)
		}
	}
	return all, err
}

// Names returns the names of the resources of a selection, sorted by namespace and name. All who are interested in the
// selection are woken when a name comes or goes, and not when a resource changes otherwise. Errors are those of Get.
func (s *Set) Names(ctx context.Context, o Owner, p Purpose, i WatchRequest) (names []types.NamespacedName, err error) {
	err = s.look(ctx, o, p, i, func(st *store) { names = st.names() })
	return names, err
}

// look waits a little for the first list of the stream of a watch request, and reads what it shows. If the list arrives
// later, the owner is woken, and until Done does not wait for others. The lock is held while it reads: a stream that is
// denied is emptied after that is known.
func (s *Set) look(ctx context.Context, o Owner, p Purpose, i WatchRequest, read func(*store)) error {
	st, wait := s.track(o, p, i)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !wait {
		cancel()
	}
	select {
	case <-st.synced:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := st.ready()
	switch {
	case err == nil:
		read(st.store)
	case IsNotSynced(err):
		if w := s.watchers[o]; w != nil {
			st.missed[w], w.of(p).early = 1, true
		}
		if st.lists == 0 && time.Since(st.begun) > silentAfter {
			// No conflict, which nobody sees: whoever has written the kubeconfig can act on it.
			err = errors.Errorf("the server has not listed %s for more than %s: check the server, and the proxies before it",
				i.Resource.GroupResource(), silentAfter)
		}
	}
	return err
}

// Put shows the answer of the server to a write of an owner, so that the next Get sees it. Other owners of the resource
// are woken. The echo of the write from the stream wakes nobody, unless it has come before. The Set keeps the answer.
func (s *Set) Put(o Owner, r schema.GroupVersionResource, answer *unstructured.Unstructured) {
	for _, st := range s.carriers(r, nameOf(answer)) {
		st.put(o, answer)
	}
}

// Gone reports that the server has answered that a resource does not exist any more. A watch may lag behind, or be kept
// open by a proxy that has lost the server. Owners of the resource are woken.
func (s *Set) Gone(r schema.GroupVersionResource, n types.NamespacedName, uid types.UID) {
	for _, st := range s.carriers(r, n) {
		st.remove(n, func(held *unstructured.Unstructured) bool { return held.GetUID() == uid })
	}
}

// carriers returns the stores of the streams that carry a resource.
func (s *Set) carriers(r schema.GroupVersionResource, n types.NamespacedName) (stores []*store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range []Stream{StreamLabelled, StreamLabelledInNamespace, StreamByName} {
		if st := s.streams[WatchRequest{Resource: r, NamespacedName: n, Stream: kind}.key()]; st != nil {
			stores = append(stores, st.store)
		}
	}
	return stores
}

// Kick makes streams that rest after a failure try again now, as the cluster may answer otherwise than it did. Their
// refusals are taken for passing ones for a while.
func (s *Set) Kick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kicked = time.Now()
	for _, st := range s.streams {
		st.retry()
	}
}

// Close stops all streams.
func (s *Set) Close() { s.cancel() }

// stream returns the stream of a watch request, started if need be. The caller holds the lock.
func (s *Set) stream(i WatchRequest) *stream {
	st, ok := s.streams[i.key()]
	if !ok {
		st = newStream(s, i.key())
		s.streams[st.key] = st
	}
	return st
}

// release ends watch requests of an owner. The caller holds the lock.
func (s *Set) release(w *watcher, watchRequests []WatchRequest) {
	for _, i := range watchRequests {
		if st, ok := s.streams[i.key()]; ok {
			st.count(i, w, -1)
			s.leave(st)
		}
	}
}

// leave stops a stream that nobody looks at. The caller holds the lock.
func (s *Set) leave(st *stream) {
	if len(st.owners)+len(st.tables) == 0 && s.streams[st.key] == st {
		st.cancel()
		delete(s.streams, st.key)
	}
}
