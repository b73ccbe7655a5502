package target

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// TestTryCredentials shows that credentials are tried until the target has accepted them, and not again.
func TestTryCredentials(t *testing.T) {
	var tried atomic.Int32
	var accepts atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Impersonate-User") != "" { // It is no probe.
			tried.Add(1)
			if !accepts.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
		}
		fmt.Fprint(w, `{"gitVersion":"v1.36.1"}`)
	}))
	defer s.Close()
	r, _ := newHealthRegistry(t, s.URL)
	c := connectAs(t, r, informer.Owner{Controller: "c"}, "somebody")
	if err := c.TryCredentials(t.Context()); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("refused credentials: want ErrUnauthorized, got %v", err)
	}
	accepts.Store(true)
	for range 3 {
		if err := c.TryCredentials(t.Context()); err != nil {
			t.Errorf("accepted credentials: want no error, got %v", err)
		}
	}
	if n := tried.Load(); n != 2 {
		t.Errorf("want 2 requests with credentials, got %d", n)
	}
}
