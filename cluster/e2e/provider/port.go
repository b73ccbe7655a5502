package provider

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/pkg/errors"
)

// Providers listen between these ports, below the ephemeral range: package local says why.
const (
	firstPort = 20000
	lastPort  = 29999
	portTries = 200
)

// A port is a TCP port on loopback. It is held by UDP, in the way of package local, so that neither takes a port of the
// other.
type port struct {
	number int
	held   net.PacketConn
}

// reserve finds the ports of a provider.
func (p *Process) reserve() error {
	for _, to := range []**port{&p.health, &p.metrics, &p.webhook} {
		found, err := findPort()
		if err != nil {
			p.release()
			return err
		}
		*to = found
	}
	return nil
}

// release gives the ports of a provider up.
func (p *Process) release() {
	for _, held := range []*port{p.health, p.metrics, p.webhook} {
		if held != nil {
			held.release()
		}
	}
}

func findPort() (*port, error) {
	for range portTries {
		p := &port{number: firstPort + rand.IntN(lastPort-firstPort+1)} //nolint:gosec // Spreads ports, hides nothing.
		held, err := new(net.ListenConfig).ListenPacket(context.Background(), "udp4", p.addr())
		if err != nil {
			continue
		}
		if l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", p.addr()); err == nil {
			p.held = held
			return p, errors.Wrap(l.Close(), "cannot give up port")
		}
		_ = held.Close()
	}
	return nil, errors.Errorf("cannot find a free port between %d and %d", firstPort, lastPort)
}

func (p *port) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number)) }

func (p *port) release() { _ = p.held.Close() }
