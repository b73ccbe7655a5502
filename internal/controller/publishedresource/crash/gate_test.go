package crash_test

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
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
	to, err := url.Parse(cfg.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var self string
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
			r.Out.Header.Del("Accept-Encoding") // What is compressed cannot be renamed.
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: func(r *http.Response) error {
			if w.isDead() {
				return http.ErrAbortHandler
			}
			if strings.Contains(r.Request.URL.Path, "/apiexportendpointslices") {
				r.Body = renamed(r.Body, to.Scheme+"://"+to.Host, self)
				r.ContentLength = -1
				r.Header.Del("Content-Length")
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.stops(r, true) {
			panic(http.ErrAbortHandler)
		}
		if !isWrite(r) {
			proxy.ServeHTTP(rw, r)
			return
		}
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		if w.stops(r, false) {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(rw.Header(), answer.Header())
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes())
	}))
	t.Cleanup(func() { kube.EndServer(server) })
	self = server.URL
	out := rest.CopyConfig(cfg)
	out.Host = self + to.Path
	return out
}

// renamed returns a body in which one address has become another. It passes lines on as they come, as those of a watch.
func renamed(body io.ReadCloser, from, to string) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		defer func() { _ = body.Close() }()
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadString('\n')
			if _, broken := io.WriteString(in, strings.ReplaceAll(line, from, to)); broken != nil {
				return
			}
			if err != nil {
				_ = in.CloseWithError(err)
				return
			}
		}
	}()
	return out
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
