package clusters

import (
	"context"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"testing"
	"time"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

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
	b.next = newRoutes(Addresses{}, nil)[identity.WriterTenant].wall(b.paths, b.next)
	if _, err := b.probe(); err == nil || !strings.Contains(err.Error(), "begins with https://") {
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
	b.suspect()
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
