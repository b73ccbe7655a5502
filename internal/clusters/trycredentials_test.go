package clusters

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

// TestAuthorized shows that a target is asked each time, and that only what it serves is an answer.
func TestAuthorized(t *testing.T) {
	type answer struct {
		code int
		body string
	}
	const refusal = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"%s","code":%d}`
	var next atomic.Pointer[answer]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"gitVersion":"v1.36.1"}`)
			return
		}
		w.WriteHeader(next.Load().code)
		fmt.Fprint(w, next.Load().body)
	}))
	defer s.Close()
	r, _ := newHealthRegistry(t, s.URL)
	c := connectAs(t, r, informer.Owner{Controller: "c"}, "somebody")
	unknown := answer{http.StatusUnauthorized, fmt.Sprintf(refusal, "Unauthorized", http.StatusUnauthorized)}
	stranger := answer{http.StatusForbidden, fmt.Sprintf(refusal, "Forbidden", http.StatusForbidden)}
	shown := answer{http.StatusOK, `{"kind":"APIVersions","versions":["v1"]}`}
	for _, tc := range []struct {
		reason string
		answer answer
		want   bool
	}{
		{"It does not know the credentials.", unknown, false},
		{"It knows the user, and shows nothing.", stranger, false},
		{"It is no API server.", answer{http.StatusOK, `{"Code":"Success"}`}, false},
		{"It shows what it serves.", shown, true},
		{"The credentials have been revoked.", unknown, false},
		{"It knows them again.", shown, true},
	} {
		next.Store(&tc.answer)
		if err := c.Authorized(t.Context(), informer.Owner{}); (err == nil) != tc.want {
			t.Errorf("%s want authorized %t, got %v", tc.reason, tc.want, err)
		}
	}
}
