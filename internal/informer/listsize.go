package informer

import (
	"context"
	"sync/atomic"
)

// A ListSize is how many bytes of a list have been read, over all of its pages or, if it comes as a stream, all of its
// events: a bound of each alone would be none of their number.
type ListSize struct {
	bytes atomic.Int64
	over  atomic.Bool           // The stream goes on with changes, which do not count.
	err   atomic.Pointer[error] // why it was left, nil if it was not
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

// withSize returns the context of the request for a page of a list: of the one under way if the page goes on with it.
func (g *watchSupervisor) withSize(ctx context.Context, goesOn bool) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == nil || !goesOn {
		g.size = &ListSize{}
	}
	return context.WithValue(ctx, listSizeKey{}, g.size)
}
