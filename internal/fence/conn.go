package fence

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/rest"
)

// dialer is what client-go dials with by default.
var dialer = net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}

// A DialFunc opens a connection, as the field Dial of a rest.Config does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Protect returns a copy of a REST configuration with Wrap and Dial. What wraps transports later is in front of the
// Fence.
func (f *Fence) Protect(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	if f != nil {
		cfg.Wrap(f.Wrap)
		cfg.Dial = f.Dial(cfg.Dial)
	}
	return cfg
}

// Dial returns a DialFunc for connections that send nothing, reads included, once this replica has lost the Lease. They
// are closed then. Before this replica first holds the Lease they send what Wrap lets pass. next is nil for the default
// of client-go.
func (f *Fence) Dial(next DialFunc) DialFunc {
	if next == nil {
		next = dialer.DialContext
	}
	if f == nil {
		return next
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if f.expired() {
			return nil, ErrClosed
		}
		inner, err := next(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, fence: f}
		f.mu.Lock()
		f.conns[c] = struct{}{}
		f.mu.Unlock()
		return c, nil
	}
}

type conn struct {
	net.Conn

	fence *Fence
}

// Write sends bytes unless the Lease has ended.
func (c *conn) Write(b []byte) (int, error) {
	if c.fence.expired() {
		_ = c.Close() // Half a request may be out.
		return 0, ErrClosed
	}
	return c.Conn.Write(b)
}

// Close closes the connection.
func (c *conn) Close() error {
	c.fence.mu.Lock()
	delete(c.fence.conns, c)
	c.fence.mu.Unlock()
	return c.Conn.Close()
}
