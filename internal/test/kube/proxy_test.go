package kube

import (
	"net"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestProxyEnds shows that a connection which was accepted just before the end of a Proxy, and is taken up after, does
// not stay.
func TestProxyEnds(t *testing.T) {
	listen := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", net.JoinHostPort(loopback, "0"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	server, clients := listen(), listen() // Neither says anything, nor ends a connection.
	var p *Proxy
	t.Run("Ended", func(t *testing.T) {
		p, _ = NewProxy(t, &rest.Config{Host: "http://" + server.Addr().String()})
	})
	client, err := net.Dial("tcp4", clients.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.serve(client)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("want the connection ended with the proxy, it stays")
	}
}
