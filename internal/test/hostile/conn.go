package hostile

import (
	"crypto/tls"
	"net"
	"sync"
)

// A connFault is a fault of whole connections.
type connFault struct {
	reset bool                    // each connection is reset at once
	cert  func() *tls.Certificate // what the server presents instead of its certificate
}

// A listener makes connections as its fault says.
type listener struct {
	net.Listener

	mu    sync.Mutex
	fault *connFault
	count int // how many connections have met a fault
	conns map[*conn]struct{}
}

// set replaces the fault, nil for none, and cuts off all connections that began under another one.
func (l *listener) set(f *connFault) {
	l.mu.Lock()
	same := l.fault == f
	l.fault = f
	l.mu.Unlock()
	if !same {
		l.cut()
	}
}

// cut resets all connections.
func (l *listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.reset()
	}
	clear(l.conns)
}

func (l *listener) hits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

func (l *listener) current() *connFault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// Accept returns the next connection that is not reset at once.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // It is the Listener's.
		}
		if c := l.take(accepted); c != nil {
			return c, nil
		}
	}
}

// take notes a connection. It returns nil if it has reset it.
func (l *listener) take(accepted net.Conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &conn{Conn: accepted, listener: l}
	if l.fault != nil {
		l.count++
		if l.fault.reset {
			c.reset()
			return nil
		}
	}
	l.conns[c] = struct{}{}
	return c
}

// A conn is a connection of a listener.
type conn struct {
	net.Conn

	listener *listener
}

// reset ends a connection without a farewell.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}

// Close closes the connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close() //nolint:wrapcheck // It is the Conn's.
}
