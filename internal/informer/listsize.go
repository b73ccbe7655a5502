package informer

import (
	"context"
	"sync"
	"time"

	"github.com/pkg/errors"
)

// A ListSize is how many bytes of a list have been read, over all of its pages or, if it comes as a stream, all of its
// events: a bound of each alone would be none of their number. Its methods may be called concurrently.
type ListSize struct {
	budget *budget // of the Set, which holds the list while it arrives; nil for no bound
	free   int64   // bytes that do not count against it, as the stream holds as many that the list replaces
	begun  time.Time

	mu    sync.Mutex
	bytes int64
	over  bool  // The list has come to its end. What a stream brings from then on does not count.
	err   error // why it was left, nil if it was not
}

// Add adds bytes that were read, and returns the sum. It fails if there is no room for them.
func (s *ListSize) Add(n int) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return 0, nil
	case !s.budget.take(s.counted(s.bytes+int64(n)) - s.counted(s.bytes)):
		return s.bytes, fullError{}
	}
	s.bytes += int64(n)
	return s.bytes, nil
}

// counted returns how many of so many bytes count against the budget.
func (s *ListSize) counted(bytes int64) int64 { return max(bytes-s.free, 0) }

// Fail records that the list was left because it is too long.
func (s *ListSize) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// failure returns why the list was left, nil if it was not.
func (s *ListSize) failure() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// end ends the list. What it has brought counts no more: the store that keeps it counts it.
func (s *ListSize) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.budget.take(-s.counted(s.bytes))
		s.over = true
	}
}

type listSizeKey struct{}

// ListSizeIn returns the size of the list that a request belongs to, nil if it belongs to none.
func ListSizeIn(ctx context.Context) *ListSize {
	s, _ := ctx.Value(listSizeKey{}).(*ListSize)
	return s
}

// withSize returns the context of the request for a page of a list: of the one under way if the page goes on with it.
func (g *watchSupervisor) withSize(ctx context.Context, goesOn bool) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == nil || !goesOn {
		g.size.end()
		g.size = &ListSize{budget: g.budget, free: g.held(), begun: time.Now()}
	}
	return context.WithValue(ctx, listSizeKey{}, g.size)
}

// checkPages fails if the pages of a list that has a bound do not come to an end: a list holds what it has brought.
func (g *watchSupervisor) checkPages() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.budget == nil || g.size == nil || time.Since(g.size.begun) < pagesMost {
		return nil
	}
	err := errors.Errorf("server does not come to the end of a list within %s", pagesMost)
	g.size.Fail(err)
	return err
}

// endList ends the list under way, if there is one. One that was left counts as a flood.
func (g *watchSupervisor) endList() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == nil {
		return
	}
	if err := g.size.failure(); err != nil {
		g.flooded, g.recovered = err, false
	}
	g.size.end()
	g.size = nil
}
