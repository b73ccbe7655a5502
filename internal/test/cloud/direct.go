package cloud

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
)

// direct is where the names of the endpoints lead without a proxy, as tenants reach them.
const direct = "127.0.0.1:443"

// listen makes the endpoints answer at their own port, and the process find them there by their names.
func (c *Clouds) listen(hosts []string) {
	l, err := net.Listen("tcp", direct)
	if err != nil {
		panic(err) // There is no test yet that could fail.
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.forward(client)
		}
	}()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go resolve(theirs, hosts)
		return ours, nil
	}}
}

// forward passes a connection on to the endpoints.
func (c *Clouds) forward(client net.Conn) {
	server, err := net.Dial("tcp", c.web.Listener.Addr().String())
	if err != nil {
		_ = client.Close()
		return
	}
	go func() { _, _ = io.Copy(server, client); _ = server.Close() }()
	_, _ = io.Copy(client, server)
	_ = client.Close()
}

// resolve answers one query of DNS, as sent by TCP (RFC 1035): the hosts are this machine, and no others exist.
func resolve(conn net.Conn, hosts []string) {
	defer conn.Close() //nolint:errcheck // Who has asked reads what there is.
	const header, typeA, noSuchName = 12, 1, 3
	length := make([]byte, 2)
	if _, err := io.ReadFull(conn, length); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(length))
	if _, err := io.ReadFull(conn, query); err != nil {
		return
	}
	end := header + bytes.IndexByte(query[header:], 0) + 1 // of the name
	var labels []string
	for at := header; query[at] != 0; at += 1 + int(query[at]) {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
	}
	known := false
	for _, h := range hosts {
		known = known || strings.EqualFold(h, strings.Join(labels, "."))
	}
	answer := slices.Concat(query[:2], []byte{0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0}, query[header:end+4]) // an authority's
	switch {
	case !known:
		answer[3] = noSuchName
	case binary.BigEndian.Uint16(query[end:]) == typeA:
		answer[7] = 1 // It has one address.
		answer = append(answer, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	answer = slices.Concat(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer)
	_, _ = conn.Write(answer) // Who has gone does not want it.
}
