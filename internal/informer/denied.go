package informer

import (
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// retryDenied is how long a stream the server refuses rests before it is tried again.
	retryDenied = time.Minute
	// starting is for how long after a kick a refusal is taken for a passing one: a server that has just started
	// refuses everybody whose rights it has not read yet.
	starting = time.Minute
)

// refused reports whether an error is the server's decision, which only somebody's change of it can turn.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsMethodNotSupported(err) ||
		isUnserved(err)
}

// isUnserved reports whether a server may not serve a kind. Package target makes errors that say so.
func isUnserved(err error) bool {
	var e interface{ Unserved() bool }
	return apierrors.IsNotFound(err) || errors.As(err, &e) && e.Unserved()
}

func (f *feed) isDenied() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.denied != nil
}

// deny records that the server does not serve the stream. All who look through it are woken once, to read live.
func (f *feed) deny(err error) {
	f.mu.Lock()
	turned := f.denied == nil
	f.denied, f.when = err, time.Now()
	owners := f.settle(turned && f.filled)
	f.mu.Unlock()
	f.wakeAll(owners)
}

// restDenied returns how long the stream rests after a refusal.
func (f *feed) restDenied() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.kicked) < starting {
		return retryFailed
	}
	return retryDenied
}

// insist has a stream tried again soon that the server has denied, if it is one that nobody can read live instead:
// whoever looks at it has no other way to learn that it is allowed by now. The caller holds the lock.
func (f *feed) insist() {
	if f.names == nil && !f.key.wildcard || time.Since(f.when) < retryFailed {
		return
	}
	f.retry()
}

// restart has a stream tried again now, as the server has changed. Its refusals are taken for passing ones for a while.
func (f *feed) restart() {
	f.mu.Lock()
	f.kicked = time.Now()
	f.mu.Unlock()
	f.retry()
}

// retry ends the rest of a stream, or the next one.
func (f *feed) retry() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}
