package clusters

import (
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/errors"
)

// TestUnreachableMessage shows that messages hold nothing that differs from one attempt to the next: they become
// conditions.
func TestUnreachableMessage(t *testing.T) {
	address := func(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }
	of := func(op string, cause error, port int) error {
		return &net.OpError{
			Op: op, Net: "tcp", Source: address(port), Addr: address(6443), Err: os.NewSyscallError(op, cause),
		}
	}
	for name, tc := range map[string]struct {
		reason string
		cause  func(port int) error // of an attempt from a port of ours
		want   string               // part of the message
	}{
		"Reset": {
			reason: "A reset read names the server.",
			cause:  func(port int) error { return of("read", syscall.ECONNRESET, port) },
			want:   "connection to 127.0.0.1:6443: connection reset by peer",
		},
		"Pipe": {
			reason: "So does a write that broke off.",
			cause:  func(port int) error { return of("write", syscall.EPIPE, port) },
			want:   "write tcp 127.0.0.1:6443: write: broken pipe",
		},
		"Refused": {reason: "A refused connection has no port of ours.", cause: func(int) error {
			return &net.OpError{Op: "dial", Net: "tcp", Addr: address(6443), Err: syscall.ECONNREFUSED}
		}, want: "dial tcp 127.0.0.1:6443: connection refused"},
		"Wrapped": {
			reason: "A client may have wrapped the error.", cause: func(port int) error {
				return &url.Error{
					Op: "Get", URL: "https://127.0.0.1:6443/version",
					Err: errors.Wrap(of("read", syscall.ECONNRESET, port), "cannot probe"),
				}
			}, want: "connection reset by peer",
		},
		"DNS": {
			reason: "The address of the resolver, and our port, do not matter.", cause: func(port int) error {
				return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
					Name: "kcp.example.com", Server: "10.0.0.10:53",
					Err: "read udp " + address(port).String() + "->10.0.0.10:53: i/o timeout",
				}}
			}, want: `cannot resolve "kcp.example.com"`,
		},
		"Other": {
			reason: "Any other error is told as it is.",
			cause:  func(int) error { return io.ErrUnexpectedEOF },
			want:   "unexpected EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := unreachableError{cause: tc.cause(34567)}.Error(), unreachableError{cause: tc.cause(45678)}.Error()
			if first != second {
				t.Errorf("%s\nmessages of two attempts: want the same, got %q and %q", tc.reason, first, second)
			}
			if !strings.HasPrefix(first, ErrUnreachable.Error()+": ") || !strings.Contains(first, tc.want) {
				t.Errorf("%s\nmessage: want it to contain %q, got %q", tc.reason, tc.want, first)
			}
		})
	}
}
