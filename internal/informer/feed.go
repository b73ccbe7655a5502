package informer

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

const (
	// silentAfter is how long a first list may take without a word. A list of ten thousand resources takes seconds.
	silentAfter = 20 * time.Second
	// patientRounds is how many times in a row a stream may fail to start before it counts as denied, so that its
	// owners read live.
	patientRounds = 2
	// retryFailed is how long a stream that broke rests before it is tried again.
	retryFailed = 2 * time.Second
	// restartPace is the pause, on average, between two streams of a Set that begin anew.
	restartPace = 2 * time.Millisecond
	// retryFirst and retrySteps bound the reflector's own retries of a refused connection, from 200 ms up to
	// retryFailed.
	retryFirst = 200 * time.Millisecond
	retrySteps = 5
)

// A feedKey identifies a stream: of one resource if it has a name, of the names of selected resources if selects is
// set, of the resources that a selector selects if it has that, of all resources if all or, in all logical clusters,
// wildcard is set, else of a kind's labelled resources.
type feedKey struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
	selects   bool
	wildcard  bool
	all       bool
	selector  string
}

func keyOf(i Interest) feedKey {
	switch i.Stream {
	case StreamByName:
		return feedKey{resource: i.Resource, namespace: i.Namespace, name: i.Name}
	case StreamLabelledInNamespace:
		return feedKey{resource: i.Resource, namespace: i.Namespace}
	case StreamBySelector:
		return feedKey{resource: i.Resource, namespace: i.Namespace, selector: i.Selector}
	case StreamNames:
		return feedKey{resource: i.Resource, namespace: i.Namespace, selects: true, selector: i.Selector}
	case StreamAllWorkspaces:
		return feedKey{resource: i.Resource, wildcard: true}
	case StreamAll:
		return feedKey{resource: i.Resource, namespace: i.Namespace, all: true}
	case StreamLabelled:
	}
	return feedKey{resource: i.Resource}
}

// A feed is one stream and those who look at it.
type feed struct {
	key    feedKey
	store  *store // empty if the stream carries names only
	names  *names // nil unless it does
	wake   func(Owner)
	back   func() // called when the server has gone back in its history
	cancel context.CancelFunc
	begun  time.Time
	ended  <-chan struct{} // closed when the stream is over
	kick   chan struct{}
	round  renewable
	quota  *quota

	streams func() int // how many streams the Set has
	mu      sync.Mutex
	owners  map[types.NamespacedName]map[Owner]int
	synced  chan struct{} // closed when the first list has arrived or the server has refused
	filled  bool
	lists   int // how many lists have arrived
	denied  error
	when    time.Time          // the server has denied the stream last
	kicked  time.Time          // the Set was kicked last
	missed  map[Owner]struct{} // owners that looked before the first list

	listeners map[*listener]struct{}
}

func newFeed(ctx context.Context, c dynamic.Interface, key feedKey, o Options) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{
		key: key, begun: time.Now(), wake: o.Wake, back: o.wentBack, cancel: cancel, ended: ctx.Done(),
		kick:   make(chan struct{}, 1),
		owners: map[types.NamespacedName]map[Owner]int{},
		quota:  o.budget.newQuota(), streams: o.streams,
		synced: make(chan struct{}),
		missed: map[Owner]struct{}{},
		kicked: o.kicked,

		listeners: map[*listener]struct{}{},
	}
	f.store = newStore(f.changed, f.fill, f.wentBack)
	if key.selects {
		f.names = newNames(func() { f.changed(selection(key.namespace), Owner{}) }, f.fill, f.wentBack)
		g := nameSupervisor(o.Metadata, key)
		go f.run(ctx, nameReflector(key, supervisedStore{f.names, g, f.quota, nil}), g)
		return f
	}
	if key.wildcard {
		f.store.name = nameInCluster
	}
	if key.wildcard || key.all {
		o.Selector = ""
	}
	g := &watchSupervisor{
		ListerWatcherWithContext: listerWatcher(c, key, o.Selector), single: key.name != "", page: o.PageSize,
	}
	r := cache.NewReflectorWithOptions(g, &unstructured.Unstructured{},
		supervisedStore{f.store, g, f.quota, o.Interner}, reflectorOptions(key))
	go f.run(ctx, r, g)
	return f
}

func reflectorOptions(key feedKey) cache.ReflectorOptions {
	return cache.ReflectorOptions{
		Name:            key.resource.String(),
		TypeDescription: key.resource.String(),
		Backoff: &wait.Backoff{
			Duration: retryFirst, Factor: 2, Jitter: 0.1, Steps: retrySteps, Cap: retryFailed,
		},
	}
}

func listerWatcher(c dynamic.Interface, key feedKey, selector string) cache.ListerWatcherWithContext {
	var r dynamic.ResourceInterface = c.Resource(key.resource)
	if key.namespace != "" {
		r = c.Resource(key.resource).Namespace(key.namespace)
	}
	if key.selector != "" {
		selector = key.selector
	}
	narrow := func(o *metav1.ListOptions) { o.LabelSelector = selector }
	if key.name != "" {
		narrow = func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.name).String()
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			narrow(&o)
			return r.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			narrow(&o)
			return r.Watch(ctx, o)
		},
	}
	if key.wildcard {
		return plainLists{lw}
	}
	return lw
}

// plainLists keep a reflector from asking for lists as streams: it gathers these by namespace and name, which repeat in
// the logical clusters of a virtual workspace, so that one resource of each name would be left.
type plainLists struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported says so.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

func (f *feed) run(ctx context.Context, r *cache.Reflector, g *watchSupervisor) {
	defer f.quota.release()
	failures := 0
	for ctx.Err() == nil {
		before := f.listed()
		renewed, err := f.round.run(ctx, r.ListAndWatchWithContext)
		if renewed {
			f.takeTurn(ctx)
			continue
		}
		rest := retryFailed
		failures++
		switch {
		case f.listed() > before || err == nil || ctx.Err() != nil:
			failures = 0
		case refused(err) && (!f.key.wildcard || !isUnserved(err)):
			rest = f.restDenied()
			f.deny(err)
		case failures >= patientRounds:
			f.deny(err)
		}
		if pause, err := g.rest(time.Now()); pause > 0 {
			rest = pause
			f.deny(err)
			f.empty()
		}
		select {
		case <-ctx.Done():
		case <-f.kick:
		case <-time.After(rest):
		}
		f.takeTurn(ctx)
	}
}

// takeTurn waits a moment, which is longer the more streams there are: after a restart of their server all would list
// at once.
func (f *feed) takeTurn(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(time.Duration(f.streams())*restartPace + 1)): //nolint:gosec // Nobody gains by guessing it.
	}
}

// empty forgets all that the stream has brought.
func (f *feed) empty() {
	f.store.empty()
	if f.names != nil {
		f.names.empty()
	}
	f.quota.release()
}

// over reports whether the stream has ended.
func (f *feed) over() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// listed returns how many lists have arrived.
func (f *feed) listed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lists
}

// fill records that a list has arrived.
func (f *feed) fill() {
	f.mu.Lock()
	turned := f.denied != nil
	f.denied, f.filled = nil, true
	f.lists++
	owners := f.settle(turned)
	f.mu.Unlock()
	f.wakeAll(owners)
}

// wentBack wakes all owners, as the server has gone back in its history: what was written is undone, and what they know
// may be of no time.
func (f *feed) wentBack() {
	f.mu.Lock()
	owners := f.settle(true)
	f.mu.Unlock()
	f.wakeAll(owners)
	f.back()
}

// settle ends the wait for the first list. It returns who has missed it, or all owners. The caller holds the lock.
func (f *feed) settle(all bool) map[Owner]struct{} {
	select {
	case <-f.synced:
	default:
		close(f.synced)
	}
	owners := f.missed
	f.missed = map[Owner]struct{}{}
	if all {
		for _, of := range f.owners {
			for o := range of {
				owners[o] = struct{}{}
			}
		}
	}
	return owners
}

// changed wakes the owners of a resource but the one who has changed it. Before the first list all owners are about to
// look anyway.
func (f *feed) changed(n types.NamespacedName, by Owner) {
	f.tell(n)
	switch {
	case f.key.wildcard:
		n = types.NamespacedName{}
	case f.key.all:
		n.Name, n.Namespace = "", f.key.namespace
	case f.key.selector != "":
		n.Name = "" // An owner that selects is interested in everything that is selected.
	}
	f.mu.Lock()
	owners := map[Owner]struct{}{}
	if f.filled {
		for o := range f.owners[n] {
			owners[o] = struct{}{}
		}
	}
	delete(owners, by)
	f.mu.Unlock()
	f.wakeAll(owners)
}

func (f *feed) wakeAll(owners map[Owner]struct{}) {
	for o := range owners {
		f.wake(o)
	}
}

func (f *feed) add(n types.NamespacedName, o Owner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owners[n] == nil {
		f.owners[n] = map[Owner]int{}
	}
	f.owners[n][o]++
}

// drop ends an owner's interest and reports whether the feed has no owner left.
func (f *feed) drop(n types.NamespacedName, o Owner) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owners[n][o]--; f.owners[n][o] <= 0 {
		delete(f.owners[n], o)
		delete(f.missed, o)
	}
	if len(f.owners[n]) == 0 {
		delete(f.owners, n)
	}
	return f.unused()
}

// await waits for the first list, for at most patience. It returns notSyncedError if it has not arrived, silentError if
// it should have long ago, and deniedError if the server refuses the stream.
func (f *feed) await(ctx context.Context, o Owner, patience time.Duration) error {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-f.synced:
	case <-t.C:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.denied != nil {
		f.insist()
		return deniedError{cause: f.denied}
	}
	if !f.filled || f.over() {
		f.missed[o] = struct{}{}
		if !f.filled && time.Since(f.begun) > silentAfter {
			return silentError{resource: f.key.resource}
		}
		return notSyncedError{resource: f.key.resource}
	}
	return nil
}
