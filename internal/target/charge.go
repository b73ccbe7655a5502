package target

import (
	"context"
	"io"
	"net/http"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/watch"
)

// ownerKey is the key of the owner in the context of a reconcile.
type ownerKey struct{}

// WithOwner returns the context of a reconcile: the time that its requests take is charged to their targets, and the owner is woken when
// a target that has too many of them takes more.
func WithOwner(ctx context.Context, o watch.Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}

// wrap puts an account in front of a transport.
func (a *account) wrap(next http.RoundTripper) http.RoundTripper {
	return charged{account: a, next: next}
}

// patient returns what bounds the reconciles that wait for something that is about to arrive, whatever target it is of. If nothing is counted
// it returns the one of before.
func (a *account) patient(before chan struct{}) chan struct{} {
	if a == nil {
		return before
	}
	return a.budget.patient
}

// wait returns a context in which a reconcile may wait for something that is about to arrive. It has ended if too many wait already. done must
// be called.
func (a *account) wait(ctx context.Context) (waiting context.Context, done func()) {
	if a == nil {
		return ctx, func() {}
	}
	select {
	case a.budget.patient <- struct{}{}:
		return ctx, func() { <-a.budget.patient }
	default:
	}
	waiting, cancel := context.WithCancel(ctx)
	cancel()
	return waiting, cancel
}

// A charged transport charges requests of reconciles to an account.
type charged struct {
	account *account
	next    http.RoundTripper
}

// RoundTrip sends a request if the target has not more than its share of the workers. The charge ends with the body.
func (c charged) RoundTrip(req *http.Request) (*http.Response, error) {
	o, ok := req.Context().Value(ownerKey{}).(watch.Owner)
	if !ok {
		return c.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	w, err := c.account.enter(o, cancel)
	if err != nil {
		cancel(nil)
		if req.Body != nil {
			_ = req.Body.Close() // A transport always closes it.
		}
		return nil, err
	}
	end := func() {
		w.end()
		cancel(nil)
	}
	res, err := c.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); IsBusy(cause) {
			err = cause
		}
		end()
		return nil, err
	}
	c.account.answer()
	res.Body = chargedBody{ReadCloser: res.Body, end: end}
	return res, nil
}

// A chargedBody is the body of an answer that is charged to an account until it is closed.
type chargedBody struct {
	io.ReadCloser

	end func()
}

// Close closes the body.
func (b chargedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// busyError means that a slow target has its share of the workers. The owner is woken when it may have more.
type busyError struct{}

// Error says what keeps the target from having more workers.
func (busyError) Error() string {
	return ErrUnreachable.Error() + ": it takes long to answer, and has its share of the workers"
}

// Is makes the error an ErrUnreachable.
func (busyError) Is(err error) bool { return err == ErrUnreachable }

// IsBusy reports whether an error means that a slow target has its share of the workers. The owner is woken when it may have more.
func IsBusy(err error) bool {
	var e busyError
	return errors.As(err, &e)
}

// crowdedError means that a target that is not slow must wait for a worker. The owner is woken when there is one.
type crowdedError struct{}

// Error says what is waited for.
func (crowdedError) Error() string { return "waiting for a worker" }

// Status makes the error a conflict in the eyes of crossplane-runtime, which requeues conflicts silently.
func (e crowdedError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}
