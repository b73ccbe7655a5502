package informer

import (
	"context"
	"time"

	"golang.org/x/time/rate"
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
		return cache.NewSharedIndexInformer(&cache.ListWatch{
			ListWithContextFunc: s.list, WatchFuncWithContext: s.watch,
		}, o, resync, indexers)
	}
}

// An informerSource is a source that notes how far its reflector has come. Only the first list comes as a stream: the
// version of such a list is not told.
type informerSource struct {
	*source

	wentBack func()
	version  string // Only the reflector calls, one method at a time.
}

// list lists. While connections are refused, and as long after that as a server may take to start, it goes on trying:
// reflectors of informers would try again up to a minute later each time.
func (s *informerSource) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.note(o)
	var refused time.Time
	for {
		list, err := s.source.list(ctx, o)
		if utilnet.IsConnectionRefused(err) {
			refused = time.Now()
		}
		if m, merr := meta.ListAccessor(list); err == nil && merr == nil && newer(s.version, m.GetResourceVersion()) {
			s.version = m.GetResourceVersion()
			s.wentBack()
		}
		if err == nil || time.Since(refused) > starting {
			return list, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait.Jitter(retryRefused, 1)):
		}
	}
}

// watch begins or resumes a watch.
func (s *informerSource) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.note(o)
	if o.SendInitialEvents != nil && s.version != "" {
		return nil, errListAgain
	}
	return s.source.watch(ctx, o)
}

func (s *informerSource) note(o metav1.ListOptions) {
	if o.ResourceVersion != "0" && (s.version == "" || newer(o.ResourceVersion, s.version)) {
		s.version = o.ResourceVersion
	}
}
