package target

import (
	"context"
	"time"
)

// suspect has a target probed of which a request has failed or is late, and the breaker opened if the probe fails too.
// The channel is closed when that is done.
func (b *breaker) suspect() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.suspicion != nil {
		return b.suspicion
	}
	decided := make(chan struct{})
	if b.state != stateUp {
		close(decided)
		return decided
	}
	b.suspicion = decided
	go b.decide(decided)
	return decided
}

// decide ends a suspicion.
func (b *breaker) decide(decided chan struct{}) {
	defer close(decided)
	if err := b.probe(); err != nil {
		b.trip(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suspicion = nil
}

// outage waits until it is known whether a request has failed because the target does not answer, and returns since
// when it does not. It returns zero if the target does: then the fault is the request's.
func (b *breaker) outage(caller context.Context) time.Time {
	began := time.Now()
	select {
	case <-b.suspect():
	case <-caller.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == stateDown || b.since.After(began) {
		return b.since
	}
	return time.Time{}
}

// isKnown reports whether the first probe is over.
func (b *breaker) isKnown() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state != stateConnecting
}

// isDownSince reports whether the target has not answered since a time at which it was found not to.
func (b *breaker) isDownSince(since time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == stateDown && b.since.Equal(since)
}

// downSince returns when the target was last found not to answer.
func (b *breaker) downSince() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since
}
