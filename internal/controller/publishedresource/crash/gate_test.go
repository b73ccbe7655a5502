package crash_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kcp"
)

// A moment is when a provider is killed: before or after one of its writes is done.
type moment struct {
	write int  // counted from zero; negative for never
	after bool // the write is done, and its answer is lost
}

// A witness stands between a provider and its servers. It counts the provider's writes and kills it at a moment:
// nothing it sends after that arrives.
type witness struct {
	kill   context.CancelFunc
	moment moment

	mu     sync.Mutex
	writes []string
	dead   bool
}

// gate returns a configuration that reaches a server past the witness, and so do the addresses of endpoints that the
// server tells of.
func (w *witness) gate(t *testing.T, cfg *rest.Config) *rest.Config {
	t.Helper()
	return kcp.Front(t, cfg, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
		modify := proxy.ModifyResponse
		proxy.ModifyResponse = func(r *http.Response) error {
			if w.isDead() {
				return http.ErrAbortHandler
			}
			return modify(r)
		}
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.pass(proxy, rw, r) })
	})
}

// pass passes a request on while the provider lives, and the answer to a write if it lives still.
func (w *witness) pass(server http.Handler, rw http.ResponseWriter, r *http.Request) {
	if w.stops(r, true) {
		panic(http.ErrAbortHandler)
	}
	if !isWrite(r) {
		server.ServeHTTP(rw, r)
		return
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, r)
	if w.stops(r, false) {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(rw.Header(), answer.Header())
	rw.WriteHeader(answer.Code)
	_, _ = rw.Write(answer.Body.Bytes())
}

func isWrite(r *http.Request) bool {
	return !slices.Contains([]string{http.MethodGet, http.MethodHead}, r.Method) &&
		!strings.Contains(r.URL.Path, "/events")
}

func (w *witness) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// stops reports whether the provider is dead before, or else after, a request is done.
func (w *witness) stops(r *http.Request, before bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || !isWrite(r) {
		return w.dead
	}
	if before {
		w.writes = append(w.writes, r.Method+" "+r.URL.Path)
	}
	if len(w.writes)-1 == w.moment.write && before != w.moment.after {
		w.dead = true
		w.kill()
	}
	return w.dead
}

func (w *witness) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writes)
}
