package kube

import (
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

const loopback = "127.0.0.1"

// BlackHole returns an address, host:port, that accepts connections and never answers, until the test ends.
func BlackHole(tb testing.TB) string {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp4", net.JoinHostPort(loopback, "0"))
	if err != nil {
		tb.Fatalf("cannot listen: %v", err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close() //nolint:errcheck // All are held until the listener ends.
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
	})
	return l.Addr().String()
}

// Refused returns an address, host:port, that refuses connections until the test ends.
func Refused(tb testing.TB) string {
	tb.Helper()
	// Bound without listening: nothing accepts there, and no other program can take the port meanwhile. Package net
	// cannot do this.
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatalf("cannot make socket: %v", err)
	}
	tb.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		tb.Fatalf("cannot bind socket: %v", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		tb.Fatalf("cannot get address of socket: %v", err)
	}
	in4, ok := addr.(*syscall.SockaddrInet4)
	if !ok {
		tb.Fatalf("cannot use address of socket: %T", addr)
	}
	return net.JoinHostPort(loopback, strconv.Itoa(in4.Port))
}
