package informer

import (
	"context"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// retryRefused is how long an informer waits at least, and twice as long at most, after a refused connection.
const retryRefused = 500 * time.Millisecond

// NewInformer returns what makes the informers of a manager's cache, which notice when a watch is dead or the server
// has gone back in its history, as the streams of a Set do. WentBack, if set, is called then, once for all informers
// that notice it.
func NewInformer(
	wentBack func(),
) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	wentBack = onceFor(restoreMost, wentBack)
	return func(lw cache.ListerWatcher, o runtime.Object, resync time.Duration,
		indexers cache.Indexers,
	) cache.SharedIndexInformer {
		g := &informerSupervisor{
			watchSupervisor: watchSupervisor{ListerWatcherWithContext: cache.ToListerWatcherWithContext(lw)},
			wentBack:        wentBack,
		}
		return cache.NewSharedIndexInformer(g, o, resync, indexers)
	}
}

// onceFor returns a function that calls f, but not again within a time.
func onceFor(d time.Duration, f func()) func() {
	var mu sync.Mutex
	var last time.Time
	return func() {
		mu.Lock()
		known := !last.IsZero() && time.Since(last) < d
		last = time.Now()
		mu.Unlock()
		if !known && f != nil {
			f()
		}
	}
}

// An informerSupervisor is a watchSupervisor that sees for itself what a watch delivers, as the stores of informers do
// not tell.
type informerSupervisor struct {
	watchSupervisor

	wentBack func()

	at      sync.Mutex
	stream  history
	refused time.Time // the server has refused a connection last
}

// List is for those without a context.
func (g *informerSupervisor) List(o metav1.ListOptions) (runtime.Object, error) {
	return g.ListWithContext(context.Background(), o)
}

// Watch is for those without a context.
func (g *informerSupervisor) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return g.WatchWithContext(context.Background(), o)
}

// ListWithContext lists.
func (g *informerSupervisor) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	g.advance(o.ResourceVersion)
	list, err := untilServed(ctx, g,
		func() (runtime.Object, error) { return g.watchSupervisor.ListWithContext(ctx, o) })
	if m, merr := meta.ListAccessor(list); err == nil && merr == nil {
		g.startAt(m.GetResourceVersion())
	}
	return list, err
}

// WatchWithContext begins or resumes a watch.
func (g *informerSupervisor) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	g.advance(o.ResourceVersion)
	w, err := untilServed(ctx, g, func() (watch.Interface, error) { return g.watchSupervisor.WatchWithContext(ctx, o) })
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if e.Type == watch.Bookmark {
			g.bookmark(e.Object)
		}
		return e, true
	}), nil
}

// untilServed makes a request until something answers at the address of the server and, if nothing did, until that is
// no longer starting: reflectors of informers would try again too, but up to a minute later each time.
func untilServed[T any](ctx context.Context, g *informerSupervisor, request func() (T, error)) (T, error) {
	for {
		answer, err := request()
		if !g.waits(err) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(wait.Jitter(retryRefused, 1)):
		}
	}
}

// waits reports whether an error is one of a server that is down or has just started.
func (g *informerSupervisor) waits(err error) bool {
	g.at.Lock()
	defer g.at.Unlock()
	if utilnet.IsConnectionRefused(err) {
		g.refused = time.Now()
		return true
	}
	return err != nil && time.Since(g.refused) < starting && !errors.Is(err, errStalled) &&
		!apierrors.IsResourceExpired(err) && !apierrors.IsBadRequest(err) && !apierrors.IsInvalid(err)
}

// bookmark records a bookmark: that at the end of a list, or one that comes each minute.
func (g *informerSupervisor) bookmark(o runtime.Object) {
	m, err := meta.Accessor(o)
	if err != nil {
		return
	}
	if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "" {
		g.bookmarked()
		return
	}
	g.listed()
	g.startAt(m.GetResourceVersion())
}

// advance records how far the reflector says it has come.
func (g *informerSupervisor) advance(version string) {
	g.at.Lock()
	defer g.at.Unlock()
	if version != "" && version != "0" {
		g.stream.advance(version)
	}
}

// startAt records that a list begins the stream anew.
func (g *informerSupervisor) startAt(version string) {
	g.at.Lock()
	wentBack := g.stream.begin(version)
	g.at.Unlock()
	if wentBack {
		g.wentBack()
	}
}
