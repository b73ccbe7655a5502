package kcp

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// Front is kube.Front for kcp: endpoints that kcp names are reached through the front, too.
func Front(tb testing.TB, cfg *rest.Config, passOn func(kcp *httputil.ReverseProxy) http.Handler) *rest.Config {
	tb.Helper()
	to, err := url.Parse(cfg.Host)
	if err != nil {
		tb.Fatalf("cannot parse address of kcp: %v", err)
	}
	transport, err := rest.TransportFor(cfg)
	if err != nil {
		tb.Fatalf("cannot connect to kcp: %v", err)
	}
	root, self := url.URL{Scheme: to.Scheme, Host: to.Host}, ""
	s := httptest.NewServer(passOn(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&root)
			r.Out.Header.Del("Accept-Encoding") // What is compressed cannot be renamed.
		},
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if strings.Contains(r.Request.URL.Path, "/apiexportendpointslices") {
				r.Body = renamed(r.Body, root.String(), self)
				r.ContentLength = -1
				r.Header.Del("Content-Length")
			}
			return nil
		},
	}))
	tb.Cleanup(func() { kube.EndServer(s) })
	self = s.URL
	return &rest.Config{Host: self + to.Path, QPS: -1}
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
