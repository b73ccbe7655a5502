package target

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/pkg/errors"
)

// How long requests may take: until the answer is read, or until the headers of the answer to a watch.
const (
	readTimeout = 10 * time.Second
	listTimeout = 60 * time.Second
	// writeTimeout leaves an admission webhook the 30 seconds that an API server gives it.
	writeTimeout = 35 * time.Second
	// slowAfter is how long a request may stay unanswered before the target is probed beside it.
	slowAfter = 2 * time.Second
	// lateAfter is how long a request may stay unanswered before it counts as late. A busy server may take seconds, and
	// what is given up must be sent again.
	lateAfter = 5 * time.Second
)

const (
	// lateMost is how many requests of a lane may be late. More are given up: they would hold workers that other
	// targets need.
	lateMost = 20
	// probeTimeout is how long a probe waits for an answer.
	probeTimeout = 3 * time.Second
	// probeInterval is the pause between probes of a target that does not answer.
	probeInterval = time.Second
	// connectPatience is how long a user waits for the first probe.
	connectPatience = 250 * time.Millisecond
)

// A breaker stands between a cluster's clients and its wall. It gives each request a deadline, and lets requests
// through while the target answers.
type breaker struct {
	next   http.RoundTripper
	url    string // what a probe asks for
	paths  paths
	up     func()          // called when the target answers again, or for the first time
	down   func()          // called when the target has stopped answering, or does not answer at first
	health func()          // called when the target may have begun to accept the credentials, or not to
	ctx    context.Context //nolint:containedctx // The life of the cluster, which outlives each request.

	mu      sync.Mutex
	seen    sight
	decided chan struct{} // closed when it is known whether the target answers; nil while nobody doubts that it does
	flights map[*flight]struct{}
	slow    map[string]*lateFlights // by lane
}

// A flight is a request that waits for its answer.
type flight struct {
	cancel context.CancelCauseFunc
	lane   string
	late   bool
}

// lateFlights are the flights of one lane that are late.
type lateFlights struct {
	number int
	since  time.Time // when the first of them began
}

func newBreaker(ctx context.Context, url string, up, down, health func()) *breaker {
	return &breaker{
		url: url, up: up, down: down, health: health, ctx: ctx,
		flights: map[*flight]struct{}{}, slow: map[string]*lateFlights{},
	}
}

// wrap puts the breaker in front of a transport. It is called once, before the first request.
func (b *breaker) wrap(next http.RoundTripper) http.RoundTripper {
	b.next = next
	return b
}

// look returns what is known of the target.
func (b *breaker) look() sight {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// ready returns nil if the target answers. While nothing is known yet it waits a moment.
func (b *breaker) ready(ctx context.Context) error {
	if b.look().state == stateConnecting {
		ctx, cancel := context.WithTimeout(ctx, connectPatience)
		defer cancel()
		b.await(ctx)
	}
	return b.look().verdict()
}

// RoundTrip sends a request if the target answers. A transport error makes the target suspect.
func (b *breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	c := b.paths.call(req)
	f := &flight{cancel: cancel, lane: c.lane}
	if err := b.enter(f); err != nil {
		cancel(nil)
		if req.Body != nil {
			_ = req.Body.Close() // A transport must.
		}
		return nil, err
	}
	defer b.leave(f)
	defer time.AfterFunc(slowAfter, func() { b.suspect() }).Stop()
	defer time.AfterFunc(lateAfter, func() { b.late(f) }).Stop()
	defer time.AfterFunc(c.timeout(req.Method), func() { cancel(unreachableError{cause: errSlow}) }).Stop()
	res, err := b.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = b.explain(ctx, req.Context(), err)
		cancel(nil)
		return nil, err
	}
	b.noteCredentials(res.StatusCode != http.StatusUnauthorized)
	if c.watch && res.StatusCode == http.StatusOK {
		res.Body = stream{ReadCloser: res.Body, cancel: cancel}
		return res, nil
	}
	cancel(nil) // The answer is read.
	return res, nil
}

// timeout returns how long the call may take.
func (c call) timeout(method string) time.Duration {
	switch {
	case method != http.MethodGet:
		return writeTimeout
	case c.watch, c.one:
		return readTimeout
	}
	return listTimeout
}

// A stream is the body of the answer to a watch.
type stream struct {
	io.ReadCloser

	cancel context.CancelCauseFunc
}

// Close closes the body, and ends a read that waits.
func (s stream) Close() error {
	defer s.cancel(nil)
	return s.ReadCloser.Close()
}

// enter admits a request.
func (b *breaker) enter(f *flight) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.seen.verdict(); err != nil {
		return err
	}
	if slow := b.slow[f.lane]; slow != nil && slow.number >= lateMost {
		return unreachableError{cause: errSlow, since: slow.since}
	}
	b.flights[f] = struct{}{}
	return nil
}

// late notes that a request is not answered in time, or gives it up if there are too many of its lane.
func (b *breaker) late(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, waiting := b.flights[f]; !waiting {
		return
	}
	slow := b.slow[f.lane]
	if slow == nil {
		slow = &lateFlights{since: time.Now().Add(-lateAfter)}
		b.slow[f.lane] = slow
	}
	if slow.number >= lateMost {
		f.cancel(unreachableError{cause: errSlow, since: slow.since})
		return
	}
	f.late = true
	slow.number++
}

// leave notes that a request is over.
func (b *breaker) leave(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.flights, f)
	if !f.late {
		return
	}
	slow := b.slow[f.lane]
	if slow.number--; slow.number == 0 {
		delete(b.slow, f.lane)
	}
}

// explain returns why a request has failed. If that is neither the word of the server nor of the caller it waits until
// a probe has decided whether the target is at fault, and the error says so.
func (b *breaker) explain(ctx, caller context.Context, err error) error {
	var answer foreignError
	given := context.Cause(ctx)
	switch {
	case IsUnreachable(given) || IsInvalidConnection(given):
		return given
	case caller.Err() != nil, errors.As(err, &answer):
		return err
	}
	began := time.Now()
	b.await(caller)
	s := b.look()
	if s.state != stateDown && !s.since.After(began) {
		s.since = time.Time{} // The fault is the request's.
	}
	return failure(err, s.since)
}

// noteCredentials notes whether an answer accepts the credentials.
func (b *breaker) noteCredentials(accepted bool) {
	b.mu.Lock()
	lasted := b.seen.isRefused()
	switch {
	case accepted:
		b.seen.refused = time.Time{}
	case b.seen.refused.IsZero():
		b.seen.refused = time.Now()
		time.AfterFunc(outagePatience, b.health)
	}
	b.mu.Unlock()
	if accepted && lasted {
		b.health()
	}
}

// suspect has the target probed until it answers, by one goroutine. The channel is closed when the first probe is over.
func (b *breaker) suspect() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.decided == nil {
		b.decided = make(chan struct{})
		go b.watchOver(b.decided)
	}
	return b.decided
}

// await waits until it is known whether the target answers.
func (b *breaker) await(ctx context.Context) {
	select {
	case <-b.suspect():
	case <-ctx.Done():
	}
}

// watchOver probes until the target answers.
func (b *breaker) watchOver(decided chan struct{}) {
	decide := sync.OnceFunc(func() { close(decided) })
	defer decide()
	for b.ctx.Err() == nil {
		version, err := b.probe()
		if b.ctx.Err() != nil {
			return
		}
		tell := b.learn(version, err)
		decide()
		tell()
		if err == nil {
			return
		}
		select {
		case <-b.ctx.Done():
		case <-time.After(probeInterval):
		}
	}
}

// learn takes in the result of a probe, and returns whom to tell. If the target has stopped answering it gives up all
// requests.
func (b *breaker) learn(version string, err error) (tell func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.seen.state
	b.seen.cause, tell = err, func() {}
	switch {
	case err == nil:
		b.seen.state, b.decided, b.seen.version = stateUp, nil, cmp.Or(version, b.seen.version)
		if was != stateUp {
			tell = b.up
		}
	case was != stateDown:
		b.seen.state, b.seen.since, tell = stateDown, time.Now(), b.down
		for f := range b.flights {
			f.cancel(failure(err, b.seen.since))
		}
	}
	return tell
}

// probe asks the target for its version. Any whole answer will do, a refusal included.
func (b *breaker) probe() (version string, err error) {
	ctx, cancel := context.WithTimeoutCause(b.ctx, probeTimeout, errors.Errorf("no answer within %s", probeTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
	if err != nil {
		return "", errors.Wrap(err, "cannot make a probe")
	}
	var content []byte
	res, err := b.next.RoundTrip(req)
	if err == nil {
		content, err = io.ReadAll(res.Body)
		_ = res.Body.Close() // All of it is read.
	}
	var answer foreignError
	switch {
	case err == nil, errors.As(err, &answer):
		return versionIn(content), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return "", err
}
