package kube

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// Front starts a server in front of that of a configuration, which sees each request and passes it on as is said, until
// the test ends. It returns a configuration that goes through it, and needs no credentials.
func Front(tb testing.TB, cfg *rest.Config, passOn func(server http.Handler) http.Handler) *rest.Config {
	tb.Helper()
	to, err := url.Parse(cfg.Host)
	if err != nil {
		tb.Fatalf("cannot parse address of server: %v", err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		tb.Fatalf("cannot connect to server: %v", err)
	}
	s := httptest.NewServer(passOn(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1,
	}))
	tb.Cleanup(func() { EndServer(s) })
	return &rest.Config{Host: s.URL, QPS: -1}
}

// EndServer ends a server whose streams stay open for minutes. Nobody comes back whose connection it has closed, which
// it would wait for.
func EndServer(s *httptest.Server) {
	_ = s.Listener.Close()
	s.CloseClientConnections()
	s.Close()
}
