package fence

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	us   = "us"
	them = "them"
	// begin is an uptime; none is zero.
	begin = time.Hour
	lease = 10 * time.Second
)

// A world is a Fence, its clock, and what its Lease is on the control plane.
type world struct {
	fence *Fence
	lock  resourcelock.Interface
	clock atomic.Int64
	lease *fakeLease
	lost  int // how often the process would have ended
}

func newWorld() *world {
	w := &world{lease: &fakeLease{}}
	w.clock.Store(int64(begin))
	w.fence = NewWithClock(func() time.Duration { return time.Duration(w.clock.Load()) }, func(string) { w.lost++ })
	w.lock = w.fence.Lock(w.lease)
	return w
}

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

// renew acquires or renews the Lease.
func (w *world) renew(t *testing.T) {
	t.Helper()
	if err := w.lock.Update(t.Context(), record(us)); err != nil {
		t.Fatal(err)
	}
}

func record(holder string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: int(lease / time.Second)}
}

// A fakeLease is the lock of this replica, whose requests can fail and take time.
type fakeLease struct {
	resourcelock.Interface

	record resourcelock.LeaderElectionRecord
	err    error
	during func() // called while a write is under way
	writes int
}

func (f *fakeLease) Identity() string { return us }

func (f *fakeLease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if f.err != nil {
		return nil, nil, f.err
	}
	return &f.record, nil, nil
}

func (f *fakeLease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return f.Update(ctx, r)
}

func (f *fakeLease) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if f.during != nil {
		f.during()
	}
	f.writes++
	if f.err == nil {
		f.record = r
	}
	return f.err
}

var errBoom = errors.New("boom")

// TestRenewals shows that a leader that looks often renews its Lease seldom, and holds it all the time.
func TestRenewals(t *testing.T) {
	w := newWorld()
	w.renew(t)
	const looks = 200
	for range looks {
		w.pass(3 * lease / looks)
		w.renew(t)
		if !w.fence.Holds() {
			t.Fatalf("Lease after %s: want it held, got lost", w.fence.now()-begin)
		}
	}
	if got, most := w.lease.writes, 3*renewals+1; got > most || got < most/2 {
		t.Errorf("renewals in three times the Lease: want about %d, got %d", most, got)
	}
}

// TestWrites shows when requests reach a server.
func TestWrites(t *testing.T) {
	const end = lease - lease/marginShare
	for name, tc := range map[string]struct {
		reason string
		before func(t *testing.T, w *world)
		writes bool
		reads  bool
	}{
		"NeverLed": {
			reason: "A replica that waits for the Lease reads only.",
			before: func(*testing.T, *world) {},
			reads:  true,
		},
		"NotAcquired": {
			reason: "An attempt that fails acquires nothing.",
			before: func(_ *testing.T, w *world) {
				w.lease.err = errBoom
				_ = w.lock.Update(context.Background(), record(us))
			},
			reads: true,
		},
		"Leads": {
			reason: "The leader writes.",
			before: func(t *testing.T, w *world) { w.renew(t) },
			writes: true, reads: true,
		},
		"Created": {
			reason: "The first leader creates the Lease.",
			before: func(t *testing.T, w *world) {
				if err := w.lock.Create(t.Context(), record(us)); err != nil {
					t.Fatal(err)
				}
			},
			writes: true, reads: true,
		},
		"JustBeforeTheEnd": {
			reason: "The Lease counts until it ends.",
			before: func(t *testing.T, w *world) { w.renew(t); w.pass(end - 1) },
			writes: true, reads: true,
		},
		"AtTheEnd": {
			reason: "Nothing leaves once the Lease has run out, on connections that may hold half a write.",
			before: func(t *testing.T, w *world) { w.renew(t); w.pass(end) },
		},
		"Renewed": {
			reason: "A renewal prolongs the Lease.",
			before: func(t *testing.T, w *world) { w.renew(t); w.pass(end - 1); w.renew(t); w.pass(end - 1) },
			writes: true, reads: true,
		},
		"SlowRenewal": {
			reason: "The Lease counts from when its renewal was sent, not from when it was answered.",
			before: func(t *testing.T, w *world) {
				w.lease.during = func() { w.pass(end) }
				w.renew(t)
			},
		},
		"FailedRenewal": {
			reason: "A renewal that fails prolongs nothing.",
			before: func(t *testing.T, w *world) {
				w.renew(t)
				w.pass(end - 1)
				w.lease.err = errBoom
				_ = w.lock.Update(t.Context(), record(us))
				w.pass(1)
			},
		},
		"RenewedLate": {
			reason: "A replica whose Lease has run out does not lead again.",
			before: func(t *testing.T, w *world) { w.renew(t); w.pass(lease * 2); w.renew(t) },
		},
		"RenewedTooSlowly": {
			reason: "A renewal that was sent in time is too late if it is answered after the end.",
			before: func(t *testing.T, w *world) {
				w.renew(t)
				w.pass(end / 2)
				w.lease.during = func() { w.pass(end/2 + 1) }
				w.renew(t)
			},
		},
		"Released": {
			reason: "A replica that has given the Lease up does not write again.",
			before: func(t *testing.T, w *world) {
				w.renew(t)
				_ = w.lock.Update(t.Context(), record(""))
				w.renew(t)
			},
		},
		"Releasing": {
			reason: "The last write is before the release, be that successful or not.",
			before: func(t *testing.T, w *world) {
				w.renew(t)
				w.lease.err = errBoom
				_ = w.lock.Update(t.Context(), record(""))
			},
		},
		"ForeignHolder": {
			reason: "A replica that sees another holder has lost the Lease, whatever the clock says.",
			before: func(t *testing.T, w *world) {
				w.renew(t)
				w.lease.record = record(them)
				_, _, _ = w.lock.Get(t.Context())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			var got atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
			t.Cleanup(server.Close)
			c := client(t, w.fence, server.URL)
			tc.before(t, w)
			for _, r := range []struct {
				method, path string
				want         bool
			}{
				{method: http.MethodGet, path: "/api/v1/configmaps", want: tc.reads},
				{method: http.MethodHead, path: "/", want: tc.reads},
				{method: http.MethodPost, path: "/api/v1/namespaces/a/configmaps", want: tc.writes},
				{method: http.MethodPut, path: "/api/v1/namespaces/a/configmaps/a", want: tc.writes},
				{method: http.MethodPatch, path: "/api/v1/namespaces/a/configmaps/a", want: tc.writes},
				{method: http.MethodDelete, path: "/api/v1/namespaces/a/configmaps/a", want: tc.writes},
				{
					method: http.MethodPost,
					path:   "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
					want:   tc.reads,
				},
				{
					method: http.MethodPost,
					path:   "/clusters/a/apis/authentication.k8s.io/v1/tokenreviews",
					want:   tc.reads,
				},
			} {
				before := got.Load()
				err := send(t, c, r.method, server.URL+r.path)
				if arrived := got.Load() > before; arrived != r.want {
					t.Errorf("%s\n%s %s arrived: want %t, got %t (%v)", tc.reason, r.method, r.path, r.want, arrived,
						err)
				}
				if !r.want && err == nil {
					t.Errorf("%s %s: want an error", r.method, r.path)
				}
			}
		})
	}
}

// client returns a client behind a Fence.
func client(t *testing.T, f *Fence, url string) *http.Client {
	t.Helper()
	c, err := rest.HTTPClientFor(f.Protect(&rest.Config{Host: url}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func send(t *testing.T, c *http.Client, method, url string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// TestLost shows when a replica ends, and who holds the Lease then.
func TestLost(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		led    bool
		after  func(w *world)
		want   bool
		holder string
	}{
		"Waits": {
			reason: "A replica that waits for the Lease sees other holders.",
			after:  func(w *world) { w.lease.record = record(them) },
			holder: them,
		},
		"Holds": {
			reason: "The holder goes on.",
			led:    true,
			after:  func(*world) {},
			holder: us,
		},
		"Unknown": {
			reason: "A request that fails does not tell who holds the Lease.",
			led:    true,
			after:  func(w *world) { w.lease.err = errBoom },
			holder: us,
		},
		"Taken": {
			reason: "Another replica leads.",
			led:    true,
			after:  func(w *world) { w.lease.record = record(them) },
			want:   true, holder: them,
		},
		"TakenAndReleased": {
			reason: "Another replica has led.",
			led:    true,
			after:  func(w *world) { w.lease.record = record("") },
			want:   true,
		},
		"ReleasedAndTaken": {
			reason: "Another replica may lead after a release.",
			led:    true,
			after: func(w *world) {
				_ = w.lock.Update(context.Background(), record(""))
				w.lease.record = record(them)
			},
			holder: them,
		},
		"Updated": {
			reason: "A Lease that has run out is released.",
			led:    true,
			after: func(w *world) {
				w.pass(lease)
				_ = w.lock.Update(context.Background(), record(us))
			},
			want: true,
		},
		"Created": {
			reason: "It is released also if somebody has deleted it.",
			led:    true,
			after: func(w *world) {
				w.pass(lease)
				_ = w.lock.Create(context.Background(), record(us))
			},
			want: true,
		},
		"CannotRelease": {
			reason: "A replica whose Lease has run out ends whether it can release it or not.",
			led:    true,
			after: func(w *world) {
				w.pass(lease)
				w.lease.err = errBoom
				_ = w.lock.Update(context.Background(), record(us))
			},
			want: true, holder: us,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if tc.led {
				w.renew(t)
			}
			tc.after(w)
			_, _, _ = w.lock.Get(t.Context())
			if got := w.lost == 1; got != tc.want || w.lost > 1 {
				t.Errorf("%s\nended: want %t, got %t (%d times)", tc.reason, tc.want, got, w.lost)
			}
			if holder := w.lease.record.HolderIdentity; holder != tc.holder {
				t.Errorf("%s\nholder of the Lease: want %q, got %q", tc.reason, tc.holder, holder)
			}
		})
	}
}

// TestReleaseComesLast shows that nothing is written any more when others may learn of a release.
func TestReleaseComesLast(t *testing.T) {
	w := newWorld()
	w.renew(t)
	held := true
	w.lease.during = func() { held = w.fence.Holds() }
	if err := w.lock.Update(t.Context(), record("")); err != nil || held {
		t.Errorf("held while the release is under way: want false, got %t, %v", held, err)
	}
}
