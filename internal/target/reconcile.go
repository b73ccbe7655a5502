package target

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// reconcileKey is the key of the running reconcile in its context.
type reconcileKey struct{}

// A running reconcile has a slot of each target that it uses.
type running struct {
	owner informer.Owner

	mu    sync.Mutex
	slots map[*targetSlots]bool // false if the target kept it waiting
}

// Reconciling returns the context of a reconcile of an owner. The clusters that it connects to give it a slot each,
// until done is called.
func Reconciling(ctx context.Context, o informer.Owner) (reconciling context.Context, done func()) {
	r := &running{owner: o, slots: map[*targetSlots]bool{}}
	return context.WithValue(ctx, reconcileKey{}, r), r.release
}

// runningIn returns the reconcile of a context, nil if it is none.
func runningIn(ctx context.Context) *running {
	r, _ := ctx.Value(reconcileKey{}).(*running)
	return r
}

// release gives all slots back.
func (r *running) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t, prompt := range r.slots {
		t.release(prompt)
	}
	clear(r.slots)
}

// enter takes a slot for the reconcile of a context, which may have one already. Its error satisfies IsQueued.
func (t *targetSlots) enter(ctx context.Context) error {
	r := runningIn(ctx)
	if t == nil || r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, has := r.slots[t]; has {
		return nil
	}
	if err := t.acquire(r.owner); err != nil {
		return err
	}
	r.slots[t] = true
	return nil
}

// An outcome is what the end of a wait tells about the target.
type outcome int

const (
	outcomeUnknown  outcome = iota // nothing: nobody waits any more
	outcomeFailed                  // it could be reached, or failed at once
	outcomeAnswered                // it has given a whole answer
)

// outcomeOf returns what the error of a request tells.
func outcomeOf(ctx context.Context, err error) outcome {
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return outcomeAnswered
	case ctx.Err() != nil, errors.Is(err, errSlow):
		return outcomeUnknown
	}
	return outcomeFailed
}

// waitForList is wait for the first list of a stream.
func (t *targetSlots) waitForList(ctx context.Context) (waiting context.Context, done func(arrived bool)) {
	waiting, end := t.wait(ctx)
	return waiting, func(arrived bool) {
		if arrived {
			end(outcomeAnswered)
		}
		end(outcomeUnknown)
	}
}

// wait returns a context in which the reconcile of a context waits for the target, which ends early if others need the
// worker. done must be called; what it is told first counts.
func (t *targetSlots) wait(ctx context.Context) (waiting context.Context, done func(outcome)) {
	r := runningIn(ctx)
	if t == nil || r == nil {
		return ctx, func(outcome) {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	w := t.begin(r.owner, cancel)
	var once sync.Once
	return waiting, func(o outcome) {
		once.Do(func() {
			if w.end(o) >= promptly {
				r.note(t)
			}
			cancel(nil)
		})
	}
}

// note notes that a target has kept the reconcile waiting.
func (r *running) note(t *targetSlots) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, has := r.slots[t]; has {
		r.slots[t] = false
	}
}

// wrap returns a transport that counts the requests of reconciles as waits.
func (t *targetSlots) wrap(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return waitingTransport{target: t, next: next}
}

type waitingTransport struct {
	target *targetSlots
	next   http.RoundTripper
}

// RoundTrip sends a request. It is waited for until the answer is read.
func (w waitingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if runningIn(req.Context()) == nil {
		return w.next.RoundTrip(req)
	}
	ctx, done := w.target.wait(req.Context())
	res, err := w.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); IsQueued(cause) {
			err = cause
		}
		done(outcomeOf(ctx, err))
		return nil, err
	}
	res.Body = &waitingBody{ReadCloser: res.Body, ctx: ctx, done: done}
	return res, nil
}

// A waitingBody is the body of an answer that a reconcile waits for.
type waitingBody struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // The request's, which tells whether it was given up.
	done func(outcome)
}

// Read reads from the body.
func (b *waitingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done(outcomeOf(b.ctx, err))
	}
	return n, err
}

// Close closes the body.
func (b *waitingBody) Close() error {
	defer b.done(outcomeUnknown)
	return b.ReadCloser.Close()
}

// queuedError means that a reconcile must wait for a slot of its target. Its owner is woken when there is one.
type queuedError struct{}

// Error says what is waited for.
func (queuedError) Error() string { return "waiting for a worker" }

// Status makes the error a conflict in the eyes of crossplane-runtime, which requeues conflicts silently.
func (e queuedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// silentError is a queuedError for which the target is at fault.
type silentError struct{ unreachableError }

// Unwrap returns what the target does.
func (e silentError) Unwrap() error { return e.unreachableError }

// newQueuedError returns the error of who must wait for a slot of the target. The caller holds the lock.
func (t *targetSlots) newQueuedError(now time.Time) error {
	if t.isUnreachable(now) {
		return silentError{unreachableError{cause: errSlow, since: t.silent}}
	}
	return queuedError{}
}

// IsQueued reports whether an error means that a reconcile must wait for a slot of its target. Its owner is woken when
// there is one.
func IsQueued(err error) bool {
	var queued queuedError
	var silent silentError
	return errors.As(err, &queued) || errors.As(err, &silent)
}
