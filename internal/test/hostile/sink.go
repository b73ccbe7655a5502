package hostile

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// A Sink is a server that nobody may be led to. It records what reaches it, until the test ends.
type Sink struct {
	server *httptest.Server

	mu       sync.Mutex
	requests []string
}

// NewSink starts a Sink. It answers each request with JSON that holds a canary.
func NewSink(tb testing.TB, canary string) *Sink {
	tb.Helper()
	s := &Sink{}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, foreign(canary))
	}))
	tb.Cleanup(s.server.Close)
	return s
}

// Requests returns method, URL and credentials of all that has reached the Sink.
func (s *Sink) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}
