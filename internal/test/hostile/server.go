package hostile

import (
	"cmp"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// headerTimeout bounds how long a client of a Server may take to send its headers.
const headerTimeout = time.Minute

// Options say what a Server is like.
type Options struct {
	// Canary is part of all that the Server invents. "canary" if empty.
	Canary string
	// HTTP1 makes the Server speak HTTP/1.1 only, as some modes need: see Mode. Else it speaks HTTP/2 too.
	HTTP1 bool
	// Redirect is where redirects lead. A Server without it must not be set to a mode that redirects.
	Redirect *Sink
}

// A Server stands in front of an API server until the test ends.
type Server struct {
	canary   string
	redirect *Sink
	listener *listener
	pass     http.Handler // to the API server

	mu     sync.Mutex
	faults map[Verb]*fault
	hits   int
}

// A fault is a mode while it lasts.
type fault struct {
	Mode

	over chan struct{} // closed when it has ended
}

// NewServer starts a Server that passes all requests on to the server of a configuration, as that user.
func NewServer(tb testing.TB, to *rest.Config, o Options) *Server {
	tb.Helper()
	pass, err := passTo(to)
	if err != nil {
		tb.Fatalf("cannot connect to server: %v", err)
	}
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("cannot listen: %v", err)
	}
	s := &Server{
		canary: cmp.Or(o.Canary, "canary"), redirect: o.Redirect, pass: pass,
		listener: &listener{Listener: l, conns: map[*conn]struct{}{}},
		faults:   map[Verb]*fault{},
	}
	server := &http.Server{
		Handler: s, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: headerTimeout,
		TLSConfig: &tls.Config{GetCertificate: s.certificate, MinVersion: tls.VersionTLS12},
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(!o.HTTP1)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ServeTLS(s.listener, "", "") })
	tb.Cleanup(func() {
		s.Heal()
		_ = server.Close()
		s.listener.cut()
		serving.Wait()
	})
	return s
}

// passTo returns a handler that passes requests on to the server of a configuration, without the credentials they bear.
func passTo(cfg *rest.Config) (http.Handler, error) {
	to, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, err //nolint:wrapcheck // The caller says what failed.
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, err //nolint:wrapcheck // The caller says what failed.
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}, nil
}

// Config returns a configuration that goes through the Server. Its token holds the canary.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host: "https://" + s.listener.Addr().String(), BearerToken: "token-of-" + s.canary, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: certificates().ca},
	}
}

// Set replaces the answers to some verbs, to all if none is given, by a mode. A mode of a connection replaces all
// answers.
func (s *Server) Set(m Mode, verbs ...Verb) {
	if m.conn != nil {
		s.listener.set(m.conn)
		return
	}
	if len(verbs) == 0 {
		verbs = allVerbs()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range verbs {
		s.end(v)
		s.faults[v] = &fault{Mode: m, over: make(chan struct{})}
	}
}

// Heal ends all modes. Requests that a mode keeps waiting are cut off.
func (s *Server) Heal() {
	s.listener.set(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range allVerbs() {
		s.end(v)
	}
}

// end ends the fault of a verb. The caller holds the lock.
func (s *Server) end(v Verb) {
	if f := s.faults[v]; f != nil {
		close(f.over)
		delete(s.faults, v)
	}
}

// Hits returns how many requests, and connections, have met a mode.
func (s *Server) Hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener.hits() + s.hits
}

// fault returns the fault of a verb, nil if it has none.
func (s *Server) fault(v Verb) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults[v]
}

// ServeHTTP answers as the mode of the request's verb says, or passes the request on.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := verbOf(r)
	f := s.fault(v)
	if f == nil || f.mutes {
		s.pass.ServeHTTP(&stream{ResponseWriter: w, server: s, request: r}, r)
		return
	}
	s.hit()
	f.answer(exchange{ResponseWriter: w, request: r, server: s, over: f.over})
}

// hit counts a request that has met a mode.
func (s *Server) hit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hits++
}

// An exchange is a request that meets a mode.
type exchange struct {
	http.ResponseWriter

	request *http.Request
	server  *Server
	over    <-chan struct{} // closed when the mode has ended
}

// hold keeps a request waiting until its client gives up or the mode ends, and cuts it off.
func (e exchange) hold() {
	select {
	case <-e.over:
	case <-e.request.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// send writes text and lets it go at once. It reports whether the client is still there and the mode still lasts.
func (e exchange) send(b []byte) bool {
	select {
	case <-e.over:
		return false
	default:
	}
	if _, err := e.Write(b); err != nil {
		return false
	}
	return http.NewResponseController(e).Flush() == nil
}

// Unwrap lets a ResponseController find what is below.
func (e exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// A stream is the answer to a request that is passed on. It falls silent when a mode that mutes is set for its verb.
type stream struct {
	http.ResponseWriter

	server  *Server
	request *http.Request
}

// Write passes on what the API server sends, until a mode mutes it.
func (s *stream) Write(b []byte) (int, error) {
	for _, v := range []Verb{Watch, List} {
		if f := s.server.fault(v); f != nil && f.mutes && s.request.URL.Query().Get("watch") == "true" {
			s.server.hit()
			exchange{ResponseWriter: s.ResponseWriter, request: s.request, over: f.over}.hold()
		}
	}
	return s.ResponseWriter.Write(b) //nolint:wrapcheck // It is the ResponseWriter's.
}

// Unwrap lets a ResponseController find what is below.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }
