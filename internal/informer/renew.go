package informer

import (
	"context"
	"sync"
)

// Renew lists again what the stream shows, and tells of what has changed, be it of the same resource version: servers
// show a resource by the schema they had when the stream began.
func (t *Table) Renew() { t.feed.round.renew() }

// A renewable is work that goes on until it is to begin anew.
type renewable struct {
	mu  sync.Mutex
	end context.CancelFunc // of what is under way, nil if nothing is
}

// run does work, and reports whether it has ended because it is to begin anew.
func (r *renewable) run(ctx context.Context, work func(context.Context) error) (renewed bool, err error) {
	round, end := context.WithCancel(ctx)
	defer end()
	r.set(end)
	err = work(round)
	r.set(nil)
	return round.Err() != nil && ctx.Err() == nil, err
}

func (r *renewable) set(end context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = end
}

func (r *renewable) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end()
	}
}
