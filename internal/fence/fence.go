package fence

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrClosed is the error of a request that is not sent because this replica does not hold the Lease.
var ErrClosed = errors.New("this replica does not hold the Lease")

const (
	// marginShare is the share of a Lease that is left for requests on their way: one tenth.
	marginShare = 10
	// renewals is how often a Lease is renewed in its duration, at most.
	renewals = 8
)

// Values of Fence.expiry that are no time.
const (
	never = 0  // This replica has not held the Lease yet.
	ended = -1 // It will not hold the Lease again.
)

// A Fence lets writes pass while this replica holds a Lease. Its methods may be called concurrently. A nil Fence lets
// all pass: without a leader election there is no Lease.
type Fence struct {
	now    func() time.Duration
	lost   func(reason string)
	expiry atomic.Int64 // when the Lease ends, in nanoseconds of now, or never or ended
}

// New returns a Fence that is closed until its Lock is acquired. It calls lost, once it is closed for good, if the
// Lease has run out or another replica has held it. lost must end the process.
func New(lost func(reason string)) *Fence {
	started := time.Now().Add(-time.Second) // No time is zero.
	return NewWithClock(func() time.Duration { return time.Since(started) }, lost)
}

// NewWithClock is New with another clock, which must only go forward.
func NewWithClock(now func() time.Duration, lost func(reason string)) *Fence {
	return &Fence{now: now, lost: lost}
}

// Protect returns a copy of a REST configuration with Wrap. What wraps transports later is in front of the Fence.
func (f *Fence) Protect(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(f.Wrap)
	return cfg
}

// Wrap returns a transport that fails with ErrClosed, without sending it, a request that could change something while
// this replica does not hold the Lease.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper {
	if f == nil {
		return next
	}
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip sends a request unless the Fence forbids it.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.fence.Holds() || !changes(req) {
		return t.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // A RoundTripper closes the body, also on errors.
	}
	return nil, ErrClosed
}

// changes reports whether a request could change something.
func changes(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	// These groups serve nothing but reviews, which are not stored.
	return !strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/") &&
		!strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/")
}

// Holds reports whether this replica holds the Lease now.
func (f *Fence) Holds() bool {
	e := f.expiry.Load()
	return e > 0 && int64(f.now()) < e
}

// expired reports whether this replica held the Lease and does not now.
func (f *Fence) expired() bool {
	e := f.expiry.Load()
	return e != never && int64(f.now()) >= e
}

// usable returns for how long this replica may write after it has renewed a Lease of a duration.
func usable(lease time.Duration) time.Duration { return lease - lease/marginShare }

// isFresh reports whether this replica holds a Lease of a duration, and has renewed it a moment ago.
func (f *Fence) isFresh(lease time.Duration) bool {
	renewed := time.Duration(f.expiry.Load()) - usable(lease)
	return f.Holds() && f.now()-renewed < lease/renewals
}

// renewed records a successful renewal for a duration, whose request was sent at a time, unless the Lease has ended
// meanwhile.
func (f *Fence) renewed(sent, lease time.Duration) {
	if was := f.expiry.Load(); !f.expired() {
		f.expiry.CompareAndSwap(was, int64(sent+usable(lease)))
	}
}

// end closes the Fence for good.
func (f *Fence) end() { f.expiry.Store(ended) }

// Lock returns a lock that records in the Fence what the leader election learns. The client of the inner lock must not
// be behind the Fence.
func (f *Fence) Lock(inner resourcelock.Interface) resourcelock.Interface {
	return &lock{Interface: inner, fence: f}
}

type lock struct {
	resourcelock.Interface

	fence *Fence
}

// Get reads the Lease. If another than this replica holds it, while this one leads, the process ends.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() && l.fence.expiry.Load() > 0 {
		l.fence.end()
		l.fence.lost("another replica has acquired the Lease: " + record.HolderIdentity)
	}
	return record, raw, err
}

// Create creates the Lease, held by this replica.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update acquires, renews or releases the Lease. A release is sent after the last write. A renewal that follows the
// last one too soon is not sent.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != l.Identity() {
		l.fence.end()
		return l.Interface.Update(ctx, record)
	}
	if l.fence.isFresh(durationOf(record)) {
		return nil
	}
	return l.write(ctx, record, l.Interface.Update)
}

// durationOf returns how long a Lease lasts after a renewal.
func durationOf(record resourcelock.LeaderElectionRecord) time.Duration {
	return time.Duration(record.LeaseDurationSeconds) * time.Second
}

// A writer creates or updates the Lease.
type writer = func(context.Context, resourcelock.LeaderElectionRecord) error

// write makes this replica the holder, unless the Lease has run out: then it releases the Lease, so that the next
// replica need not wait, and the process ends.
func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write writer) error {
	if l.fence.expired() {
		l.fence.end()
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1 // As client-go releases it.
		err := write(ctx, record)
		l.fence.lost("the Lease has expired")
		return err
	}
	sent := l.fence.now()
	if err := write(ctx, record); err != nil {
		return err
	}
	l.fence.renewed(sent, durationOf(record))
	return nil
}
