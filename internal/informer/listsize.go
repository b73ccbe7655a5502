package informer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// pagesMost is how long all pages of a list may take. A list of a million names takes minutes.
const pagesMost = 10 * time.Minute

// errPagesEndless means that the pages of a list did not come to an end in time.
var errPagesEndless = errors.Errorf("server lists for more than %s", pagesMost)

// A ListSize is how many bytes of a list have been read, over all of its pages or, if it comes as a stream, all of its
// events: a bound of each alone would be none of their number.
type ListSize struct {
	bytes atomic.Int64
	over  atomic.Bool           // The stream goes on with changes, which do not count.
	err   atomic.Pointer[error] // why it was left, nil if it was not

	round <-chan struct{} // closed when nobody needs the list any more
	until time.Time       // by when its last page must have come
}

// Add adds bytes that were read, and returns the sum.
func (s *ListSize) Add(n int) int64 {
	if s.over.Load() {
		return 0
	}
	return s.bytes.Add(int64(n))
}

// Fail records that the list was left because it is too long.
func (s *ListSize) Fail(err error) { s.err.Store(&err) }

// failure returns why the list was left, nil if it was not.
func (s *ListSize) failure() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *ListSize) end() { s.over.Store(true) }

type listSizeKey struct{}

// ListSizeIn returns the size of the list that a request belongs to, nil if it belongs to none.
func ListSizeIn(ctx context.Context) *ListSize {
	s, _ := ctx.Value(listSizeKey{}).(*ListSize)
	return s
}

// newSize begins to measure a list, and returns the context of the request for it or its first page.
func (g *watchSupervisor) newSize(ctx context.Context) (context.Context, *ListSize) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.size = &ListSize{round: ctx.Done(), until: time.Now().Add(pagesMost)}
	return context.WithValue(ctx, listSizeKey{}, g.size), g.size
}

// sameSize returns the context of the request for a page that goes on with a list. It fails if that list is not the one
// under way: a reflector that is ended leaves the request behind that it waits for, and the next one lists beside it.
func (g *watchSupervisor) sameSize(ctx context.Context) (context.Context, *ListSize, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == nil || g.size.round != ctx.Done() {
		return nil, nil, context.Canceled
	}
	return context.WithValue(ctx, listSizeKey{}, g.size), g.size, nil
}

// sizeOf returns the context of the request o, and the size of the list that it belongs to.
func (g *watchSupervisor) sizeOf(ctx context.Context, o metav1.ListOptions) (context.Context, *ListSize, error) {
	if o.Continue != "" {
		return g.sameSize(ctx)
	}
	sized, size := g.newSize(ctx)
	return sized, size, nil
}

// listPage makes the request for a list, or for one page of it. A list that is left because it is too long, or does not
// end, makes the stream rest.
func (g *watchSupervisor) listPage(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	sized, size, err := g.sizeOf(ctx, o)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithDeadlineCause(sized, size.until, errPagesEndless)
	defer cancel()
	list, err := g.ListerWatcherWithContext.ListWithContext(timed, o)
	if err != nil && errors.Is(context.Cause(timed), errPagesEndless) {
		size.Fail(errPagesEndless)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == size && size.failure() != nil {
		g.flooded = size.failure()
	}
	return list, err
}
