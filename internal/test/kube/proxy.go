package kube

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// A Proxy stands between clients and a server, until the test ends. It passes bytes on.
type Proxy struct {
	to string

	mu    sync.Mutex
	conns map[net.Conn]struct{} // of both sides
	spoil int                   // how many connections to come are ended at once
	ended bool                  // so that none is passed on any more
}

// NewProxy starts a Proxy in front of the server of a configuration, and returns it and a configuration that goes
// through it.
func NewProxy(tb testing.TB, cfg *rest.Config) (*Proxy, *rest.Config) {
	tb.Helper()
	u, err := url.Parse(cfg.Host)
	if err != nil {
		tb.Fatalf("cannot parse address of server: %v", err)
	}
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp4", net.JoinHostPort(loopback, "0"))
	if err != nil {
		tb.Fatalf("cannot listen: %v", err)
	}
	p := &Proxy{to: u.Host, conns: map[net.Conn]struct{}{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		p.end()
		serving.Wait()
	})
	cfg = rest.CopyConfig(cfg)
	u.Host = l.Addr().String()
	cfg.Host = u.String()
	return p, cfg
}

// Cut ends all connections there are and the next few that are made, without a farewell. After that all is as before.
func (p *Proxy) Cut(next int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoil = next
	p.reset()
}

// end ends all connections, and those that have been accepted and are not passed on yet.
func (p *Proxy) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.reset()
}

// reset ends all connections there are. It needs the lock.
func (p *Proxy) reset() {
	for c := range p.conns {
		reset(c)
	}
}

// reset ends a connection without a farewell.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// spoils reports whether a new connection is to be ended at once.
func (p *Proxy) spoils() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spoil == 0 {
		return false
	}
	p.spoil--
	return true
}

func (p *Proxy) serve(client net.Conn) {
	if p.spoils() {
		reset(client)
		return
	}
	server, err := net.Dial("tcp4", p.to)
	if err != nil {
		_ = client.Close()
		return
	}
	p.note(client, server)
	var passing sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
	}
	passing.Go(func() { pass(server, client) })
	passing.Go(func() { pass(client, server) })
	passing.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, client)
	delete(p.conns, server)
}

func (p *Proxy) note(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	if p.ended {
		p.reset()
	}
}
