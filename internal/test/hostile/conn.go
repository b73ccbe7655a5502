package hostile

import (
	"crypto/tls"
	"net"
	"sync"
)

// A connFault is a fault of whole connections.
type connFault struct {
	reset   bool                    // each connection is reset at once
	noRead  bool                    // nothing is read of it
	noWrite bool                    // it is read, and nothing is sent
	cert    func() *tls.Certificate // what the server presents instead of its certificate
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
	c := &conn{Conn: accepted, listener: l, over: make(chan struct{})}
	if l.fault != nil {
		l.count++
		c.fault = *l.fault
	}
	if c.fault.reset {
		c.reset()
		return nil
	}
	l.conns[c] = struct{}{}
	return c
}

// A conn is a connection of a listener.
type conn struct {
	net.Conn

	listener *listener
	fault    connFault
	once     sync.Once
	over     chan struct{} // closed when it is closed
}

// reset ends a connection without a farewell.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.end()
}

func (c *conn) end() {
	c.once.Do(func() {
		close(c.over)
		_ = c.Conn.Close()
	})
}

// Read reads, unless the fault forbids it. Then it waits until the connection is closed.
func (c *conn) Read(b []byte) (int, error) {
	if c.fault.noRead {
		<-c.over
		return 0, net.ErrClosed
	}
	return c.Conn.Read(b) //nolint:wrapcheck // It is the Conn's.
}

// Write writes, unless the fault forbids it. Then it waits until the connection is closed.
func (c *conn) Write(b []byte) (int, error) {
	if c.fault.noWrite {
		<-c.over
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b) //nolint:wrapcheck // It is the Conn's.
}

// Close closes the connection.
func (c *conn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	c.end()
	return nil
}
