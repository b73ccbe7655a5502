package watch

import (
	"context"
	"sync/atomic"
)

// A ListSize is how many bytes of a list have been read, over all of its pages or, if it comes as a stream, all of its
// events: a bound of each alone would be none of their number.
type ListSize struct {
	bytes atomic.Int64
	over  atomic.Bool // The stream goes on with changes, which do not count.
	full  atomic.Bool // It was more than may be read.
}

// Add adds bytes that were read, and returns the sum.
func (s *ListSize) Add(n int) int64 {
	if s.over.Load() {
		return 0
	}
	return s.bytes.Add(int64(n))
}

// Fill records that more was read than may be.
func (s *ListSize) Fill() { s.full.Store(true) }

func (s *ListSize) isFull() bool { return s.full.Load() }

func (s *ListSize) end() { s.over.Store(true) }

type listSizeKey struct{}

// ListSizeIn returns the size of the list that a request belongs to, nil if it belongs to none.
func ListSizeIn(ctx context.Context) *ListSize {
	s, _ := ctx.Value(listSizeKey{}).(*ListSize)
	return s
}

// withSize returns the context of the request for a page of a list: of the one under way if the page goes on with it.
func (g *guard) withSize(ctx context.Context, goesOn bool) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == nil || !goesOn {
		g.size = &ListSize{}
	}
	return context.WithValue(ctx, listSizeKey{}, g.size)
}
