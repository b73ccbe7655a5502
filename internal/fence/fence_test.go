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

const end = lease - lease/marginShare // of what a renewal gives

// A world is a Fence, its clock, and what its Lease is on the control plane.
type world struct {
	fence *Fence
	lock  resourcelock.Interface
	clock atomic.Int64
	lease *fakeLease
	lost  int // how often the process would have ended
}

// newWorld returns a world in which some steps have happened.
func newWorld(steps ...step) *world {
	w := &world{lease: &fakeLease{}}
	w.clock.Store(int64(begin))
	w.fence = NewWithClock(func() time.Duration { return time.Duration(w.clock.Load()) }, func(string) { w.lost++ })
	w.lock = w.fence.Lock(w.lease)
	for _, s := range steps {
		s(w)
	}
	return w
}

// A step is something that happens. Its requests may fail.
type step func(*world)

func pass(d time.Duration) step { return func(w *world) { w.clock.Add(int64(d)) } }

// renew acquires or renews the Lease, and create makes it.
func renew(w *world)   { _ = w.lock.Update(context.Background(), record(us)) }
func create(w *world)  { _ = w.lock.Create(context.Background(), record(us)) }
func release(w *world) { _ = w.lock.Update(context.Background(), record("")) }
func look(w *world)    { _, _, _ = w.lock.Get(context.Background()) } //nolint:dogsled // It is for what it does.

// fail has all requests about the Lease fail from now on, and slow has them take time.
func fail(w *world)             { w.lease.err = errBoom }
func slow(d time.Duration) step { return func(w *world) { w.lease.during = func() { pass(d)(w) } } }

// taken has somebody else change the holder.
func taken(by string) step { return func(w *world) { w.lease.record = record(by) } }

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
	const looks = 200
	w := newWorld(renew)
	for range looks {
		pass(3 * lease / looks)(w)
		renew(w)
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
	for name, tc := range map[string]struct {
		reason string
		steps  []step
		writes bool
	}{
		"NeverLed":         {"A replica that waits for the Lease reads only.", nil, false},
		"NotAcquired":      {"An attempt that fails acquires nothing.", []step{fail, renew}, false},
		"Leads":            {"The leader writes.", []step{renew}, true},
		"Created":          {"The first leader creates the Lease.", []step{create}, true},
		"JustBeforeTheEnd": {"The Lease counts until it ends.", []step{renew, pass(end - 1)}, true},
		"AtTheEnd":         {"No write begins at its end.", []step{renew, pass(end)}, false},
		"Renewed":          {"A renewal prolongs it.", []step{renew, pass(end - 1), renew, pass(end - 1)}, true},
		"SlowRenewal":      {"It counts from when the renewal was sent.", []step{slow(end), renew}, false},
		"FailedRenewal":    {"A failed one does not.", []step{renew, pass(end - 1), fail, renew, pass(1)}, false},
		"RenewedLate":      {"Who has lost it does not lead again.", []step{renew, pass(lease * 2), renew}, false},
		"RenewedTooSlowly": {
			"A renewal that was sent in time is too late if it is answered after the end.",
			[]step{renew, pass(end / 2), slow(end/2 + 1), renew},
			false,
		},
		"Released":      {"Who has given it up does not write again.", []step{renew, release, renew}, false},
		"Releasing":     {"Nor if the release fails.", []step{renew, fail, release}, false},
		"ForeignHolder": {"Another holder counts, whatever the clock says.", []step{renew, taken(them), look}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.steps...)
			var got atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
			t.Cleanup(server.Close)
			c := client(t, w.fence, server.URL)
			for _, r := range []struct {
				method, path string
				want         bool
			}{
				{http.MethodGet, "/api/v1/configmaps", true},
				{http.MethodHead, "/", true},
				{http.MethodPost, "/api/v1/namespaces/a/configmaps", tc.writes},
				{http.MethodPut, "/api/v1/namespaces/a/configmaps/a", tc.writes},
				{http.MethodPatch, "/api/v1/namespaces/a/configmaps/a", tc.writes},
				{http.MethodDelete, "/api/v1/namespaces/a/configmaps/a", tc.writes},
				{http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
				{http.MethodPost, "/clusters/a/apis/authentication.k8s.io/v1/tokenreviews", true},
			} {
				before := got.Load()
				err := send(t, c, r.method, server.URL+r.path)
				if arrived := got.Load() > before; arrived != r.want || (err == nil) != r.want {
					t.Errorf("%s\n%s %s arrived: want %t, got %t (%v)", tc.reason, r.method, r.path, r.want, arrived, err)
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
		steps  []step
		lost   bool
		holder string
	}{
		"Waits":            {"A replica that waits for the Lease sees other holders.", []step{taken(them)}, false, them},
		"Holds":            {"The holder goes on.", []step{renew}, false, us},
		"Unknown":          {"A request that fails does not tell who holds it.", []step{renew, fail}, false, us},
		"Taken":            {"Another replica leads.", []step{renew, taken(them)}, true, them},
		"TakenAndReleased": {"Another replica has led.", []step{renew, taken("")}, true, ""},
		"ReleasedAndTaken": {"Another may lead after a release.", []step{renew, release, taken(them)}, false, them},
		"Updated":          {"A Lease that has run out is released.", []step{renew, pass(lease), renew}, true, ""},
		"Created":          {"Also if somebody has deleted it.", []step{renew, pass(lease), create}, true, ""},
		"CannotRelease":    {"It ends whether it can release it or not.", []step{renew, pass(lease), fail, renew}, true, us},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(append(tc.steps, look)...)
			if got := w.lost == 1; got != tc.lost || w.lost > 1 {
				t.Errorf("%s\nended: want %t, got %t (%d times)", tc.reason, tc.lost, got, w.lost)
			}
			if holder := w.lease.record.HolderIdentity; holder != tc.holder {
				t.Errorf("%s\nholder of the Lease: want %q, got %q", tc.reason, tc.holder, holder)
			}
		})
	}
}

// TestReleaseComesLast shows that nothing is written any more when others may learn of a release.
func TestReleaseComesLast(t *testing.T) {
	w, held := newWorld(renew), true
	w.lease.during = func() { held = w.fence.Holds() }
	release(w)
	if held || w.lease.record.HolderIdentity != "" {
		t.Errorf("held while the release is under way: want false, got %t by %q", held, w.lease.record.HolderIdentity)
	}
}
