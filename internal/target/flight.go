package target

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pkg/errors"
)

const (
	// requestTimeout is how long a request may take, its answer included. An API server ends all but watches after 60
	// seconds.
	requestTimeout = 90 * time.Second
	// reconcileTimeout is how long one may take that a reconcile waits for, so that there is time left to say so. An
	// API server gives an admission webhook at most 30 seconds.
	reconcileTimeout = 35 * time.Second
)

// A flight is one request from its start until its answer is read, or until the headers of the answer if it is a watch.
type flight struct {
	breaker *breaker
	caller  context.Context //nolint:containedctx // The request's own, which tells whether its caller has given up.
	ctx     context.Context //nolint:containedctx // What the request is sent with.
	cancel  context.CancelCauseFunc
	timers  []*time.Timer
	lane    string
	slow    bool // guarded by the breaker's lock
}

// newFlight returns the flight of a request. end must be called.
func (b *breaker) newFlight(req *http.Request) *flight {
	ctx, cancel := context.WithCancelCause(req.Context())
	return &flight{breaker: b, caller: req.Context(), ctx: ctx, cancel: cancel, lane: b.laneOf(req.URL.Path)}
}

// start begins to measure the time.
func (f *flight) start() {
	most := requestTimeout
	if _, bound := f.caller.Deadline(); bound {
		most = reconcileTimeout
	}
	f.timers = []*time.Timer{
		time.AfterFunc(slowAfter, func() { f.breaker.suspect() }),
		time.AfterFunc(lateAfter, func() { f.breaker.late(f) }),
		time.AfterFunc(most, func() {
			f.cancel(unreachableError{cause: errSlow})
		}),
	}
}

// land ends the measurement. It may be called more than once.
func (f *flight) land() {
	for _, t := range f.timers {
		t.Stop()
	}
	f.breaker.leave(f)
}

// end ends the request.
func (f *flight) end() {
	f.land()
	f.cancel(nil)
}

// explain returns why a request or the read of its answer has failed. Unless the caller gave up it has the breaker
// suspect the target, and waits until that has decided: the error says whether the target is at fault.
func (f *flight) explain(err error) error {
	given := context.Cause(f.ctx)
	switch {
	case IsUnreachable(given) || IsInvalidConnection(given):
		return given
	case f.caller.Err() != nil:
		return err
	}
	return failure(err, f.breaker.outage(f.caller))
}

// A body is the body of an answer. The flight of its request lasts until it is read or closed.
type body struct {
	io.ReadCloser

	flight *flight
	watch  bool // a stream of events, whose errors client-go tells apart
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil || b.watch {
		return n, err
	}
	if !errors.Is(err, io.EOF) {
		err = b.flight.explain(err)
	}
	b.flight.end()
	return n, err
}

// Close closes the body.
func (b *body) Close() error {
	defer b.flight.end()
	return b.ReadCloser.Close()
}

// isWatch reports whether a request asks for a stream of events.
func isWatch(req *http.Request) bool {
	if !strings.Contains(req.URL.RawQuery, "watch=") {
		return false
	}
	v := req.URL.Query().Get("watch")
	return v == "true" || v == "1"
}

// discard closes the body of a request that is not sent, as a transport must.
func discard(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
