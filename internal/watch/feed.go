package watch

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// retryDenied is how long a stream the server refuses rests before it is tried again.
	retryDenied = time.Minute
	// retryFailed is how long a stream that broke rests before it is tried again.
	retryFailed = 2 * time.Second
	// retryFirst and retrySteps bound the reflector's own retries of a refused connection, from 200 ms up to retryFailed.
	retryFirst = 200 * time.Millisecond
	retrySteps = 5
)

// A feedKey identifies a stream: of a kind's labelled resources if name is empty, else of one resource.
type feedKey struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
}

func keyOf(i Interest) feedKey {
	switch i.Scope {
	case ScopeName:
		return feedKey{resource: i.Resource, namespace: i.Namespace, name: i.Name}
	case ScopeNamespace:
		return feedKey{resource: i.Resource, namespace: i.Namespace}
	case ScopeCluster:
	}
	return feedKey{resource: i.Resource}
}

// A feed is one stream and those who look at it.
type feed struct {
	key    feedKey
	store  *store
	wake   func(Owner)
	cancel context.CancelFunc
	kick   chan struct{}

	mu     sync.Mutex
	owners map[types.NamespacedName]map[Owner]int
	synced chan struct{} // closed when the first list has arrived or the server has refused
	filled bool
	denied error
	missed map[Owner]struct{} // owners that looked before the first list
}

func newFeed(ctx context.Context, c dynamic.Interface, key feedKey, o Options) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{
		key: key, wake: o.Wake, cancel: cancel, kick: make(chan struct{}, 1),
		owners: map[types.NamespacedName]map[Owner]int{},
		synced: make(chan struct{}),
		missed: map[Owner]struct{}{},
	}
	f.store = newStore(f.changed, f.fill)
	r := cache.NewReflectorWithOptions(listerWatcher(c, key, o.Selector), &unstructured.Unstructured{}, f.store, cache.ReflectorOptions{
		Name:            key.resource.String(),
		TypeDescription: key.resource.String(),
		Backoff:         &wait.Backoff{Duration: retryFirst, Factor: 2, Jitter: 0.1, Steps: retrySteps, Cap: retryFailed},
	})
	go f.run(ctx, r)
	return f
}

func listerWatcher(c dynamic.Interface, key feedKey, selector string) cache.ListerWatcher {
	var r dynamic.ResourceInterface = c.Resource(key.resource)
	if key.namespace != "" {
		r = c.Resource(key.resource).Namespace(key.namespace)
	}
	narrow := func(o *metav1.ListOptions) { o.LabelSelector = selector }
	if key.name != "" {
		narrow = func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.name).String()
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			narrow(&o)
			return r.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			narrow(&o)
			return r.Watch(ctx, o)
		},
	}
}

func (f *feed) run(ctx context.Context, r *cache.Reflector) {
	for ctx.Err() == nil {
		rest := retryFailed
		if err := r.ListAndWatchWithContext(ctx); f.deny(err) {
			rest = retryDenied
		}
		select {
		case <-ctx.Done():
		case <-f.kick:
		case <-time.After(rest):
		}
	}
}

// deny records that the server refuses the stream, and says whether it does.
func (f *feed) deny(err error) bool {
	if !apierrors.IsForbidden(err) && !apierrors.IsMethodNotSupported(err) && !apierrors.IsNotFound(err) {
		return false
	}
	f.mu.Lock()
	f.denied = err
	owners := f.settle()
	f.mu.Unlock()
	for o := range owners {
		f.wake(o)
	}
	return true
}

// fill records that a list has arrived.
func (f *feed) fill() {
	f.mu.Lock()
	f.denied, f.filled = nil, true
	owners := f.settle()
	f.mu.Unlock()
	for o := range owners {
		f.wake(o)
	}
}

// settle ends the wait for the first list and returns who has missed it. The caller holds the lock.
func (f *feed) settle() map[Owner]struct{} {
	select {
	case <-f.synced:
	default:
		close(f.synced)
	}
	missed := f.missed
	f.missed = map[Owner]struct{}{}
	return missed
}

// changed wakes the owners of a resource. Before the first list all owners are about to look anyway.
func (f *feed) changed(n types.NamespacedName) {
	f.mu.Lock()
	var owners []Owner
	if f.filled {
		for o := range f.owners[n] {
			owners = append(owners, o)
		}
	}
	f.mu.Unlock()
	for _, o := range owners {
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

// drop ends an owner's interest and says whether the feed has no owner left.
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
	return len(f.owners) == 0
}

// await waits for the first list, for at most patience. It returns notSyncedError if it has not arrived, and deniedError if the server
// refuses the stream.
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
		return deniedError{cause: f.denied}
	}
	if !f.filled {
		f.missed[o] = struct{}{}
		return notSyncedError{resource: f.key.resource}
	}
	return nil
}
