package local

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/pkg/errors"
)

const loopback = "127.0.0.1"

// Servers listen between these ports: above what is commonly taken, below the NodePort and the ephemeral ranges.
const (
	firstPort = 20000
	lastPort  = 29999
	portTries = 200
)

// A port is a TCP port on loopback that no other process of this package is given until it is released.
type port struct {
	number int
	// reserved is UDP: it keeps the number from others without being in the way of the server that will listen on TCP,
	// and goes away with the process, however that ends.
	reserved net.PacketConn
}

// reservePort finds a port on which nothing listens. Callers release it.
func reservePort() (*port, error) {
	for range portTries {
		n := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // Spreads ports, hides nothing.
		if p, ok := tryPort(n); ok {
			return p, nil
		}
	}
	return nil, errors.Errorf("cannot find a free port between %d and %d", firstPort, lastPort)
}

func tryPort(n int) (*port, bool) {
	p := &port{number: n}
	var on net.ListenConfig
	udp, err := on.ListenPacket(context.Background(), "udp4", p.addr())
	if err != nil {
		return nil, false
	}
	tcp, err := on.Listen(context.Background(), "tcp4", p.addr())
	if err != nil {
		_ = udp.Close()
		return nil, false
	}
	_ = tcp.Close()
	p.reserved = udp
	return p, true
}

func (p *port) addr() string {
	return net.JoinHostPort(loopback, p.String())
}

func (p *port) String() string {
	return strconv.Itoa(p.number)
}

func (p *port) release() {
	_ = p.reserved.Close()
}
