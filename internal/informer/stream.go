package informer

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

const (
	// patience is how long Get waits for a first list.
	patience = 250 * time.Millisecond
	// silentAfter is how long a first list may take without a word. A list of ten thousand resources takes seconds.
	silentAfter = 20 * time.Second
	// patientRounds is how many times in a row a stream may fail to start before it counts as denied.
	patientRounds = 2
	// retryFailed is how long a stream that broke rests at least, and half as much again at most, before it lists.
	retryFailed = 2 * time.Second
	// retryDenied is how long a stream rests that the server refuses, or that has brought too much.
	retryDenied = time.Minute
	// starting is for how long after a kick a refusal is taken for a passing one: a server that has just started
	// refuses everybody whose rights it has not read yet.
	starting = time.Minute
	// restoreMost is how long streams may take to notice the same restore: a stream that is denied is tried again each
	// minute.
	restoreMost = 2 * retryDenied
)

// errRenewed ends a round of a stream, so that it lists.
var errRenewed = errors.New("the stream is restarted")

// A listener is called with the name of each resource that has changed. It may have no function yet.
type listener = atomic.Pointer[func(types.NamespacedName)]

// A stream is one list and watch, and those who look at it. The lock of its Set guards the latter.
type stream struct {
	key    WatchRequest
	set    *Set
	store  *store
	source *source
	begun  time.Time
	size   *ListSize       // of the list of the round under way
	ctx    context.Context //nolint:containedctx // The stream's own life.
	cancel context.CancelFunc
	kick   chan struct{} // ends a rest
	synced chan struct{} // closed when the first list has arrived or the server has refused

	owners map[types.NamespacedName]map[*watcher]int // how many watch requests they have, by what these are registered for
	missed map[*watcher]int                          // owners that looked before the first list
	tables map[*listener]struct{}
	lists  int // how many lists have arrived
	denied error
	when   time.Time               // the server has denied the stream last
	end    context.CancelCauseFunc // ends the round under way; the stream rests unless the cause is errRenewed
}

// newStream starts a stream. The caller holds the lock.
func newStream(set *Set, key WatchRequest) *stream {
	s := &stream{
		key: key, set: set, store: newStore(), begun: time.Now(), kick: make(chan struct{}, 1), synced: make(chan struct{}),
		owners: map[types.NamespacedName]map[*watcher]int{}, missed: map[*watcher]int{},
		tables: map[*listener]struct{}{}, end: func(error) {},
	}
	s.ctx, s.cancel = context.WithCancel(set.ctx)
	s.store.changed, s.store.wentBack, s.store.listed = s.changed, s.wentBack, s.listed
	go s.run(s.reflector(set.options))
	return s
}

// reflector returns what feeds the store.
func (s *stream) reflector(o Options) *cache.Reflector {
	selector, page := o.Selector, o.PageSize
	if s.key.Stream > StreamByName {
		selector = s.key.Selector
	}
	metadata := s.key.Stream == StreamMetadata || s.key.Stream == StreamAllWorkspacesMetadata
	switch {
	case metadata:
		s.store.keep, page = metadataOf, metadataPage
	case s.key.Stream == StreamNames:
		s.store.keep, page = nameOnly, namesPage
	case s.key.Stream > StreamByName:
		s.store.keep = bare
	}
	var server cache.ListerWatcherWithContext
	var expected runtime.Object = &unstructured.Unstructured{}
	if metadata || s.key.Stream == StreamNames {
		expected = &metav1.PartialObjectMetadata{}
		r := o.Metadata.Resource(s.key.Resource).Namespace(s.key.Namespace)
		server = listWatch(s.key, selector, r.List, r.Watch)
	} else {
		r := s.set.client.Resource(s.key.Resource).Namespace(s.key.Namespace)
		server = listWatch(s.key, selector, r.List, r.Watch)
	}
	s.source = newSource(server, page)
	s.source.isSame = o.IsSame
	guarded := &cache.ListWatch{ListWithContextFunc: s.source.list, WatchFuncWithContext: s.source.watch}
	if metadata {
		guarded.ListWithContextFunc = byPages(s.source.list)
	}
	var from cache.ListerWatcher = guarded
	if s.key.Stream >= StreamAllWorkspaces {
		s.store.name, from = nameInCluster, plainLists{guarded}
	}
	r := cache.NewReflectorWithOptions(from, expected, s.store, cache.ReflectorOptions{
		Name: s.key.Resource.String(), TypeDescription: s.key.Resource.String(),
		Backoff: &wait.Backoff{Duration: retryFailed / 10, Factor: 2, Jitter: 0.1, Steps: 5, Cap: retryFailed},
	})
	r.WatchListPageSize = page
	return r
}

// run lists and watches until the stream ends.
func (s *stream) run(r *cache.Reflector) {
	defer s.store.empty()
	for failures := 0; s.ctx.Err() == nil; {
		listed, ended, err := s.round(r)
		if failures++; listed {
			failures = 0
		}
		rest := wait.Jitter(retryFailed, 0.5)
		switch {
		case s.ctx.Err() != nil || errors.Is(ended, errRenewed):
			s.source.begun.Store(false) // We have ended the watch, or the server has for what we renew it for.
			continue
		case ended != nil: // The list was too long.
			s.source.late.Store(true)    // The next list comes in pages.
			if !s.settle(ended, false) { // First, so that nobody takes what is forgotten for gone.
				rest = retryDenied
			}
			s.store.empty()
		case refused(err) && (s.key.Stream < StreamAllWorkspaces || !isUnserved(err)):
			if !s.settle(err, false) {
				rest = retryDenied
			}
		case err != nil && failures >= patientRounds:
			s.settle(err, false)
		}
		select {
		case <-s.ctx.Done():
		case <-s.kick:
		case <-time.After(rest):
		}
	}
}

// round lists, and watches as long as that works. It returns whether a list has arrived, and why we have ended the
// round, nil if we have not.
func (s *stream) round(r *cache.Reflector) (listed bool, ended, err error) {
	ctx, end := context.WithCancelCause(s.ctx)
	defer end(nil)
	s.set.mu.Lock()
	s.end = end
	before := s.lists
	s.set.mu.Unlock()
	s.size = &ListSize{fail: end}
	err = r.ListAndWatchWithContext(context.WithValue(ctx, listSizeKey{}, s.size))
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	return s.lists > before, context.Cause(ctx), err
}

// listed takes that a list has arrived.
func (s *stream) listed(wentBack bool) {
	s.size.ended.Store(true)
	s.source.listed()
	s.settle(nil, wentBack)
}

// wentBack takes that the server has gone back in its history, which a list is about to show.
func (s *stream) wentBack() {
	if s.set.options.WentBack != nil {
		s.set.restored.Do(s.set.options.WentBack)
	}
}

// settle takes that a list has arrived or that the server denies the stream, and reports whether it has just started.
// It wakes those who looked too early, and all owners if that turns, as they read live while the stream is denied, or
// if the server has gone back in its history, as what they know may be of no time.
func (s *stream) settle(denied error, wentBack bool) (starts bool) {
	s.set.mu.Lock()
	if denied == nil {
		s.lists++
	} else {
		s.when = time.Now()
	}
	owners := s.missed
	s.missed = map[*watcher]int{}
	if wentBack || s.lists > 0 && (denied == nil) != (s.denied == nil) {
		for _, of := range s.owners {
			maps.Copy(owners, of)
		}
	}
	s.denied = denied
	starts = time.Since(s.set.kicked) < starting
	select {
	case <-s.synced:
	default:
		close(s.synced)
	}
	s.set.mu.Unlock()
	s.wake(owners, Owner{})
	return starts
}

// changed wakes the owners of a resource but the one who has changed it. Before the first list all owners are about to
// look anyway.
func (s *stream) changed(n types.NamespacedName, by Owner) {
	s.set.mu.Lock()
	tables, owners := slices.Collect(maps.Keys(s.tables)), map[*watcher]int{}
	if s.lists > 0 {
		maps.Copy(owners, s.owners[s.key.of(n)])
	}
	s.set.mu.Unlock()
	for _, l := range tables {
		if tell := l.Load(); tell != nil {
			(*tell)(n)
		}
	}
	s.wake(owners, by)
}

// wake wakes all owners but one.
func (s *stream) wake(owners map[*watcher]int, but Owner) {
	for w := range owners {
		if w.Owner != but {
			s.set.options.Wake(w.Owner)
		}
	}
}

// count counts a watch request of an owner, or one less. The caller holds the lock.
func (s *stream) count(i WatchRequest, w *watcher, more int) {
	n := s.key.of(i.NamespacedName)
	if s.owners[n] == nil {
		s.owners[n] = map[*watcher]int{}
	}
	if s.owners[n][w] += more; s.owners[n][w] <= 0 {
		delete(s.owners[n], w)
		delete(s.missed, w)
	}
	if len(s.owners[n]) == 0 {
		delete(s.owners, n)
	}
}

// retry ends the rest of the stream, or the next one.
func (s *stream) retry() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// ready returns nil if the stream shows what the server has, else notSyncedError or deniedError. A denied stream that
// nobody can read live instead is tried again soon. The caller holds the lock.
func (s *stream) ready() error {
	switch {
	case s.lists == 0 && s.denied == nil || s.ctx.Err() != nil:
		return notSyncedError{resource: s.key.Resource}
	case s.denied == nil:
		return nil
	}
	many := len(s.tables) > 0 || s.key.Stream >= StreamNames
	if many && time.Since(s.when) >= retryFailed {
		s.retry()
	}
	return deniedError{cause: s.denied}
}

// refused reports whether an error is the server's decision, which only somebody's change of it can turn.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err) ||
		isUnserved(err)
}

// isUnserved reports whether a server may not serve a kind. Package clusters makes errors that say so.
func isUnserved(err error) bool {
	var e interface{ Unserved() bool }
	return apierrors.IsNotFound(err) || errors.As(err, &e) && e.Unserved()
}
