package informer

import (
	"context"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retryRefused is how long an informer waits after a refused connection.
const retryRefused = 750 * time.Millisecond

// NewInformer returns what makes the informers of a manager's cache, which list again after an outage, as the streams
// of a Set do. WentBack, if set, is called when the server has gone back in its history, once for all informers.
func NewInformer(
	wentBack func(),
) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	restored := &rate.Sometimes{Interval: restoreMost}
	if wentBack == nil {
		wentBack = func() {}
	}
	return func(lw cache.ListerWatcher, o runtime.Object, resync time.Duration,
		indexers cache.Indexers,
	) cache.SharedIndexInformer {
		s := &informerSource{
			source: newSource(cache.ToListerWatcherWithContext(lw), 0), wentBack: func() { restored.Do(wentBack) },
		}
		return cache.NewSharedIndexInformer(plainLists{&cache.ListWatch{
			ListWithContextFunc: s.list, WatchFuncWithContext: s.watch,
		}}, o, resync, indexers)
	}
}

// NewClient returns the client of a manager. To get what cannot be read fails, as a reconciler would take it for empty.
func NewClient(cfg *rest.Config, o client.Options) (client.Client, error) {
	c, err := client.New(cfg, o)
	return readingClient{c}, errors.Wrap(err, "cannot create client")
}

type readingClient struct{ client.Client }

// Get gets an object. With an error of Unreadable its metadata are usable.
func (c readingClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	return Unreadable(o)
}

// An informerSource is a source whose reflector tells by the version it asks for how far it has come.
type informerSource struct {
	*source

	wentBack func()
	lost     time.Time // when the server was away last. Only the reflector calls, one method at a time.
}

// list lists, and tells if the server has gone back in its history.
func (s *informerSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := untilServed(ctx, s, func() (runtime.Object, error) { return s.source.list(ctx, o) })
	if m, merr := meta.ListAccessor(list); err == nil && merr == nil && newer(o.ResourceVersion, m.GetResourceVersion()) {
		s.wentBack()
	}
	return list, err
}

// watch begins or resumes a watch.
func (s *informerSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return untilServed(ctx, s, func() (watch.Interface, error) { return s.source.watch(ctx, o) })
}

// untilServed makes a request. While the server is away, and as long after that as it may take to start, it goes on
// trying: reflectors of informers would try again up to a minute later each time.
func untilServed[T any](ctx context.Context, s *informerSource, request func() (T, error)) (answer T, err error) {
	_ = wait.PollUntilContextCancel(ctx, retryRefused, true, func(context.Context) (over bool, _ error) {
		answer, err = request()
		if utilnet.IsConnectionRefused(err) || errors.Is(err, errListAgain) {
			s.lost = time.Now()
		}
		return err == nil || errors.Is(err, errListAgain) || apierrors.IsResourceExpired(err) ||
			apierrors.IsGone(err) || time.Since(s.lost) > starting, nil
	})
	return answer, err // That of the last request, if the context has ended.
}
