package clusters

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/crossplane-contrib/provider-kcp/internal/fence"
	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

const (
	// maxHeader is how long the headers of an answer may be, in bytes.
	maxHeader = 64 << 10
	// maxUnread is how much of an answer may arrive before it is read, in bytes. Go's default is 4 MiB, and many
	// answers may wait to be read.
	maxUnread = 512 << 10
	// tlsTimeout is how long a handshake may take.
	tlsTimeout = 5 * time.Second
)

// A route is how connections are made for one kind of author of credentials. Connections of different routes are
// never shared.
type route struct {
	dialer *transport.DialHolder // part of what client-go shares connections by
	direct bool                  // the proxies of the provider's environment are not used
	// How long answers may be, in bytes: one object, one page of a list, a list.
	maxObject, maxPage, maxList int64
	skip                        int64 // how many times as much is read of an object or a page as passes

	page  int64         // how many resources a page of a list has, zero for whole lists
	large chan struct{} // bounds how many large bodies are read at a time; nil for a bound of each cluster's own
	fence *fence.Fence  // nil for none
}

// newRoutes returns the routes by writer. The fence is nil for none.
func newRoutes(a Addresses, f *fence.Fence) map[identity.Writer]route {
	return map[identity.Writer]route{
		identity.WriterOperator: {
			dialer: &transport.DialHolder{Dial: newDialer().DialContext}, fence: f,
			maxObject: maxObject, maxPage: maxList, maxList: maxList, skip: skipMost,
		},
		identity.WriterTenant: {
			dialer: a.dialer(), direct: true, fence: f,
			maxObject: maxTenantObject, maxPage: maxTenantObject, maxList: maxTenantList, skip: skipTenant,
			page:  tenantPage,
			large: make(chan struct{}, largeBodies),
		},
	}
}

// forTokens returns a context whose token sources use the route.
func (r route) forTokens(ctx context.Context) context.Context {
	t := &http.Transport{
		DialContext: r.dialer.Dial, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: tlsTimeout, DisableKeepAlives: true,
	}
	if !r.direct {
		t.Proxy = http.ProxyFromEnvironment
	}
	return identity.WithTransport(ctx, t)
}

// client returns a client of a REST configuration. It follows no redirect.
func (r route) client(cfg *rest.Config) (*http.Client, error) {
	if cfg.ExecProvider != nil {
		cfg.Dial = r.dialer.Dial // A plugin wraps it.
	}
	t, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	if cfg.ExecProvider == nil {
		t.DialHolder = r.dialer
	}
	if r.direct && t.Proxy == nil && proxied() {
		t.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } //nolint:nilnil // It means no proxy.
	}
	rt, err := transport.New(t)
	return &http.Client{
		Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}, err
}

// proxied reports whether the provider's environment names a proxy.
func proxied() bool {
	return slices.ContainsFunc([]string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"},
		func(name string) bool {
			return os.Getenv(name) != ""
		})
}

// limitHeaders bounds the headers of answers, and what arrives before it is read. Clusters of one Registry, which
// connects one after the other, may share the transport: it is changed before the first of them uses it.
func limitHeaders(rt http.RoundTripper) http.RoundTripper {
	inner := rt
	for {
		wrapper, ok := inner.(utilnet.RoundTripperWrapper)
		if !ok {
			break
		}
		inner = wrapper.WrappedRoundTripper()
	}
	if t, ok := inner.(*http.Transport); ok && t.MaxResponseHeaderBytes == 0 {
		t.MaxResponseHeaderBytes, t.TLSHandshakeTimeout = maxHeader, tlsTimeout
		t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: maxUnread}
	}
	return rt
}
