package target

import (
	"sync"
	"time"
)

const (
	// largeRestFirst is for how long no large body of a server is read after one could not be read to its end. It
	// doubles with each that follows, up to largeRestMost. Small bodies are read at any time.
	largeRestFirst = 4 * time.Second
	largeRestMost  = time.Minute
)

// A largeRest keeps the large bodies of one server from being read over and over if none comes to its end: each costs
// memory, of all servers together, and the time to read it. Its methods may be called concurrently. A nil one never
// refuses.
type largeRest struct {
	mu    sync.Mutex
	pause time.Duration
	until time.Time
	err   error // of the last large body
}

// refuse returns the error of the last large body while the rest lasts, and nil else.
func (r *largeRest) refuse(now time.Time) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.until) {
		return r.err
	}
	return nil
}

// begin begins a rest, as a large body could not be read to its end.
func (r *largeRest) begin(now time.Time, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = min(max(2*r.pause, largeRestFirst), largeRestMost)
	r.until, r.err = now.Add(r.pause), err
}

// end ends the rest, as a large body has come to its end.
func (r *largeRest) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause, r.until, r.err = 0, time.Time{}, nil
}
