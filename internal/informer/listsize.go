package informer

import (
	"context"
	"sync/atomic"
)

// A ListSize is how many bytes of a list have been read, over all of its pages or, if it comes as a stream, all of its
// events: a bound of each alone would be none of their number.
type ListSize struct {
	bytes atomic.Int64
	ended atomic.Bool // The stream goes on with changes, which do not count.
	fail  func(error)
}

// begin counts a list from its beginning.
func (s *ListSize) begin() {
	if s != nil {
		s.ended.Store(false)
		s.bytes.Store(0)
	}
}

// Add adds bytes that were read, and returns the sum.
func (s *ListSize) Add(n int) int64 {
	if s.ended.Load() {
		return 0
	}
	return s.bytes.Add(int64(n))
}

// Fail leaves the list because it is too long. Its stream rests.
func (s *ListSize) Fail(err error) { s.fail(err) }

type listSizeKey struct{}

// ListSizeIn returns the size of the list that a request belongs to, nil if it belongs to none.
func ListSizeIn(ctx context.Context) *ListSize {
	s, _ := ctx.Value(listSizeKey{}).(*ListSize)
	return s
}
