package fence

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pkg/errors"
)

// TestHalfSent shows that the second half of a request does not leave after the Lease.
func TestHalfSent(t *testing.T) {
	w := newWorld(renew)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := w.fence.Dial(nil)(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	pass(lease)(w)
	if _, err := c.Write([]byte("second")); !errors.Is(err, ErrClosed) {
		t.Errorf("error: want %v, got %v", ErrClosed, err)
	}
	got, err := io.ReadAll(server)
	if string(got) != "first" || err != nil {
		t.Errorf("arrived: want %q and the end, got %q, %v", "first", got, err)
	}
}

// TestUnansweredAtTheEnd shows that a server learns at the end of the Lease that nobody waits for its answer.
func TestUnansweredAtTheEnd(t *testing.T) {
	f := New(nil)
	f.renewed(f.now(), 500*time.Millisecond)
	given := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // A server watches the connection from then on.
		<-r.Context().Done()
		close(given)
	}))
	t.Cleanup(server.Close)
	if err := send(t, client(t, f, server.URL), http.MethodPost, server.URL); err == nil {
		t.Error("want an error, as the request is not answered")
	}
	select {
	case <-given:
	case <-time.After(10 * time.Second):
		t.Error("the server still works for a replica that has lost its Lease")
	}
	if len(f.conns) > 0 {
		t.Errorf("connections after the Lease: want none, got %d", len(f.conns))
	}
}
