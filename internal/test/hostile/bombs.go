package hostile

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

const (
	// fuse is the most that a bomb sends, expanded. In bytes.
	fuse = 256 << 20
	// headersSize is how large huge headers are, in bytes.
	headersSize = 32 << 20
)

// filling is what bombs consist of.
var filling = bytes.Repeat([]byte("a"), 1<<20)

// bomb is a body of the size of the fuse, compressed.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(z, beginning) // A Buffer takes all.
	for sent := 0; sent < fuse; sent += len(filling) {
		_, _ = z.Write(filling)
	}
	_, _ = io.WriteString(z, `"}}`)
	_ = z.Close()
	return b.Bytes()
})

// gzipped sends a body that is small until it is expanded.
func gzipped(e exchange) {
	e.Header().Set("Content-Type", "application/json")
	e.Header().Set("Content-Encoding", "gzip")
	e.send(bomb())
}

// hugeHeaders sends headers larger than any server has.
func hugeHeaders(e exchange) {
	e.take(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSecretAccessKey: "+
			e.server.canary)
		for range headersSize / len(filling) {
			if _, err := w.Write(filling); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, "\r\n\r\n{}")
	})
}
