package clusters

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestIsBrief shows which errors may be over before anybody has to know.
func TestIsBrief(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"None":   {reason: "No error is no outage."},
		"Other":  {reason: "Other errors are none.", err: errors.New("boom")},
		"Begins": {reason: "An outage that begins is brief.", err: failure(errors.New("boom"), now), want: true},
		"Wrapped": {
			reason: "What was tried does not matter.",
			err:    errors.Wrap(failure(errors.New("boom"), now.Add(-outagePatience/2)), "cannot"), want: true,
		},
		"Lasts": {
			reason: "One that lasts is not.",
			err:    failure(errors.New("boom"), now.Add(-outagePatience)),
		},
		"Unknown": {
			reason: "An outage that nobody has seen begin is not known to be brief.",
			err:    failure(errors.New("boom"), time.Time{}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsBrief(tc.err); got != tc.want {
				t.Errorf("%s Want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

// TestOutageWakesUsersLate shows that an outage is told of the ProviderConfig at once, but to the users only when it
// lasts, and that all hear that it is over.
func TestOutageWakesUsersLate(t *testing.T) {
	const users, kind, config = 100, "ProviderConfig.example.org", "ProviderConfig.example.org/default/cluster"
	joined := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-joined
		http.NotFound(w, r)
	})
	s := httptest.NewServer(handler)
	addr := s.Listener.Addr().String()
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var woken atomic.Int64
	r.OnChange("controller", func(types.NamespacedName) { woken.Add(1) })
	nobodyWaits, cancel := context.WithCancel(t.Context())
	cancel()
	var c *Cluster
	for i := range users {
		o := informer.Owner{Controller: "controller", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}}
		r.Bind(o, config)
		if c, err = r.Connect(nobodyWaits, o, injectedAs("somebody")); c == nil {
			t.Fatal(err)
		}
	}
	told := make(chan string, users)
	r.OnChange(kind, func(n types.NamespacedName) { told <- kind + "/" + n.String() })
	if h := r.Health(config); h.Known || h.Err != nil {
		t.Errorf("before the first probe nothing is known, got %+v", h)
	}
	close(joined)
	awaitHealth(t, r, config, "first response of the target", func(h Health) bool { return h.Known && h.Err == nil })
	eventually(t, "users", func() bool { return woken.Load() == users })

	s.CloseClientConnections()
	s.Close()
	c.breaker.startProbing()
	awaitHealth(t, r, config, "the target to be lost", func(h Health) bool { return IsUnreachable(h.Err) })
	if n := woken.Load(); n > users {
		t.Errorf("users woken by an outage that begins: want none, got %d", n-users)
	}
	eventually(t, "users", func() bool { return woken.Load() == 2*users })

	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	again := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	defer again.Close()
	go func() { _ = again.Serve(l) }()
	eventually(t, "users", func() bool { return woken.Load() == 3*users })
	awaitHealth(t, r, config, "the target to be back", func(h Health) bool { return h.Known && h.Err == nil })
	for len(told) > 0 {
		if key := <-told; key != config {
			t.Errorf("it tells of %q", key)
		}
	}
	if h := r.Health("other"); h.Known || h.Err != nil {
		t.Errorf("of what nobody uses nothing is known, got %+v", h)
	}
}

func awaitHealth(t *testing.T, r *Registry, key, what string, is func(Health) bool) {
	t.Helper()
	eventually(t, what, func() bool { return is(r.Health(key)) })
}

// deadline is how long a test waits for what must happen.
const deadline = 2 * time.Minute

// newTestBreaker returns a breaker in front of a server, and channels that tell when it opens and closes.
func newTestBreaker(t *testing.T, url string) (b *breaker, up, down chan struct{}) {
	t.Helper()
	up, down = make(chan struct{}, 10), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	server, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	b = newBreaker(ctx, server, func() { up <- struct{}{} }, func() { down <- struct{}{} }, func() {})
	b.next = &http.Transport{DisableKeepAlives: true}
	return b, up, down
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(deadline):
		t.Fatalf("gave up waiting for %s", what)
	}
}

func send(ctx context.Context, t *testing.T, b *breaker, url string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return err
}

// TestBreakerTellsOfTLS shows that a URL with http:// of a server with TLS is no target that answers, and that the
// error says what to write.
func TestBreakerTellsOfTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	plain := strings.Replace(s.URL, "https://", "http://", 1)
	b, _, _ := newTestBreaker(t, plain)
	b.next = newRoutes(Addresses{}, nil)[identity.WriterTenant].responseGuard(b.paths, b.next)
	if _, err := b.probe(); err == nil || !strings.Contains(err.Error(), "write https://") {
		t.Errorf("want an error that names https://, got %v", err)
	}
}

func TestBreakerKeepsSlowButAlive(t *testing.T) {
	slow := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-slow
		}
	}))
	defer s.Close()
	b, up, down := newTestBreaker(t, s.URL)
	b.startProbing()
	await(t, "the first probe", up)
	timer := time.AfterFunc(slowAfter+time.Second/2, func() { close(slow) })
	defer timer.Stop()
	if err := send(t.Context(), t, b, s.URL+"/slow"); err != nil {
		t.Errorf("A slow request to a target that answers probes may take its time: got %v", err)
	}
	if len(down) > 0 {
		t.Error("The breaker must not open")
	}
}
