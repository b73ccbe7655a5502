package target

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
)

const (
	// slowAfter is how long a request may stay unanswered before the target is probed beside it.
	slowAfter = 2 * time.Second
	// lateAfter is how long a request may stay unanswered before it counts as late. A busy server may take seconds, and
	// what is given up must be sent again.
	lateAfter = 5 * time.Second
	// lateMost is how many requests of a lane may be late. More are given up: they would hold workers that other
	// targets need.
	lateMost = 20
	// answerOfTLS is what net/http answers to a request without TLS on a port with TLS.
	answerOfTLS = "Client sent an HTTP request to an HTTPS server"
	// probeTimeout is how long a probe waits for an answer.
	probeTimeout = 3 * time.Second
	// maxVersion is how much of the answer to a probe is read, in bytes.
	maxVersion = 1 << 16
	// probeInterval is the pause between probes of a target that does not answer.
	probeInterval = time.Second
	// connectPatience is how long a user waits for the first probe.
	connectPatience = 250 * time.Millisecond
	// connectWaiters is how many users of one target may wait for it at a time.
	connectWaiters = 8
)

type state int

const (
	stateConnecting state = iota
	stateUp
	stateDown
)

// A breaker stands between a cluster's clients and its transport. It lets requests through while the target answers.
type breaker struct {
	next    http.RoundTripper
	url     string          // what a probe asks for
	base    string          // what comes before the API in the path of a request
	lanes   string          // what comes before the lane in the path of a request; empty if all requests are of one
	up      func()          // called when the target answers again, or for the first time
	down    func()          // called when the target has stopped answering, or does not answer at first
	ctx     context.Context //nolint:containedctx // The life of the cluster, which outlives each request.
	waiters chan struct{}   // bounds who waits for the first probe
	known   chan struct{}   // closed when the first probe is over

	mu        sync.Mutex
	state     state
	cause     error         // what the last attempt died of
	version   string        // what the target reported last, empty for nothing
	since     time.Time     // when the target was last found not to answer
	suspicion chan struct{} // closed when it is known whether the target answers; nil if nobody doubts that
	flights   map[*flight]struct{}
	slow      map[string]*lateFlights // by lane
}

// lateFlights are the flights of one lane that are late.
type lateFlights struct {
	number int
	since  time.Time // when the first of them began
}

func newBreaker(ctx context.Context, url string, up, down func()) *breaker {
	return &breaker{
		url: url, up: up, down: down, ctx: ctx,
		waiters: make(chan struct{}, connectWaiters),
		known:   make(chan struct{}),
		flights: map[*flight]struct{}{}, slow: map[string]*lateFlights{},
	}
}

// wrap puts the breaker in front of a transport. It is called once, before the first request.
func (b *breaker) wrap(next http.RoundTripper) http.RoundTripper {
	b.next = next
	return b
}

// ready returns nil if the target answers. While nothing is known yet it waits a moment.
func (b *breaker) ready(ctx context.Context) error {
	select {
	case b.waiters <- struct{}{}:
		t := time.NewTimer(connectPatience)
		select {
		case <-b.known:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		<-b.waiters
	default:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.verdict()
}

// answers returns an error if the target is known not to answer.
func (b *breaker) answers() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stateDown {
		return failure(b.cause, b.since)
	}
	return nil
}

// verdict reports whether requests may pass. The caller holds the lock.
func (b *breaker) verdict() error {
	switch b.state {
	case stateUp:
		return nil
	case stateDown:
		return failure(b.cause, b.since)
	case stateConnecting:
	}
	return connectingError{}
}

// RoundTrip sends a request if the target answers. A transport error, then or while the answer is read, makes it
// suspect.
func (b *breaker) RoundTrip(req *http.Request) (*http.Response, error) {
	f := b.newFlight(req)
	if err := b.enter(f); err != nil {
		f.end()
		discard(req)
		return nil, err
	}
	f.start()
	res, err := b.next.RoundTrip(req.WithContext(f.ctx))
	if err != nil {
		err = f.explain(err)
		f.end()
		return nil, err
	}
	watch := isWatch(req) && res.StatusCode == http.StatusOK
	if watch {
		f.land()
	}
	res.Body = &body{ReadCloser: res.Body, flight: f, watch: watch}
	return res, nil
}

// laneOf returns the lane of a request: of a virtual workspace of kcp, the logical cluster that is asked.
func (b *breaker) laneOf(path string) string {
	rest, ok := strings.CutPrefix(path, b.lanes)
	if b.lanes == "" || !ok {
		return ""
	}
	lane, _, _ := strings.Cut(rest, "/")
	return lane
}

// enter admits a request.
func (b *breaker) enter(f *flight) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.verdict(); err != nil {
		return err
	}
	if slow := b.slow[f.lane]; slow != nil && slow.number >= lateMost {
		return unreachableError{cause: errSlow, since: slow.since}
	}
	b.flights[f] = struct{}{}
	return nil
}

// late notes that a request is not answered in time, or gives it up if there are too many of its kind.
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
	f.slow = true
	slow.number++
}

// leave notes that a request is over.
func (b *breaker) leave(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, waiting := b.flights[f]; !waiting {
		return
	}
	delete(b.flights, f)
	if !f.slow {
		return
	}
	slow := b.slow[f.lane]
	if slow.number--; slow.number == 0 {
		delete(b.slow, f.lane)
	}
}

// trip opens the breaker, gives up all unanswered requests and starts to probe.
func (b *breaker) trip(cause error) {
	b.mu.Lock()
	if b.state == stateDown || b.ctx.Err() != nil {
		b.mu.Unlock()
		return
	}
	b.state, b.cause, b.since = stateDown, cause, time.Now()
	for f := range b.flights {
		f.cancel(failure(cause, b.since))
	}
	b.mu.Unlock()
	b.down()
	go b.watchOver()
}

// watchOver probes until the target answers.
func (b *breaker) watchOver() {
	for {
		err := b.probe()
		if b.ctx.Err() != nil {
			return
		}
		switch b.learn(err) {
		case findingUp:
			b.up()
			return
		case findingDown:
			b.down()
		case findingSame:
		}
		select {
		case <-b.ctx.Done():
			return
		case <-time.After(probeInterval):
		}
	}
}

// A finding is what a probe has told of a target that did not answer, or was not known.
type finding int

const (
	findingSame finding = iota // it does not answer still
	findingUp                  // it answers
	findingDown                // it does not answer, which nobody knew
)

// learn takes in the result of a probe.
func (b *breaker) learn(err error) finding {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.known:
	default:
		close(b.known)
	}
	if err == nil {
		b.state, b.cause = stateUp, nil
		return findingUp
	}
	unknown := b.state == stateConnecting
	b.state, b.cause = stateDown, err
	if !unknown {
		return findingSame
	}
	b.since = time.Now()
	return findingDown
}

// probe asks the target for its version. Any whole answer will do, a refusal included.
func (b *breaker) probe() error {
	ctx, cancel := context.WithTimeoutCause(b.ctx, probeTimeout, errors.Errorf("no answer within %s", probeTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
	if err != nil {
		return errors.Wrap(err, "cannot make a probe")
	}
	var answer []byte
	res, err := b.next.RoundTrip(req)
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(res.Body, maxVersion))
		_ = res.Body.Close() // All of it that counts is read.
		if res.StatusCode == http.StatusBadRequest && bytes.Contains(answer, []byte(answerOfTLS)) {
			err = errors.New("the server speaks TLS: its URL in the kubeconfig begins with https:// and not with http://")
		}
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if v := versionIn(answer); err == nil && v != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.version = v
	}
	return err
}

// serverVersion returns the version that the target reported last, empty for nothing.
func (b *breaker) serverVersion() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}
