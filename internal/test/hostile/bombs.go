package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	// fuse is the most that a bomb sends, expanded. In bytes.
	fuse = 256 << 20
	// objectSize is about how large an object of a flood is, in bytes.
	objectSize = 100 << 10
	// headersSize is how large huge headers are, in bytes.
	headersSize = 32 << 20
	// statusSize is how large the message of a huge metav1.Status is, in bytes.
	statusSize = 2 << 20
)

// filling is what bombs consist of.
var filling = bytes.Repeat([]byte("a"), 1<<20)

// endless sends a body that does not end before the fuse.
func endless(e exchange) {
	e.begin()
	e.fill()
}

// hugeEvent sends a watch event that does not end before the fuse.
func hugeEvent(e exchange) {
	e.Header().Set("Content-Type", "application/json")
	e.send([]byte(`{"type":"ADDED","object":` + beginning))
	e.fill()
}

// flood shows one object after another, up to the fuse: as a list whose pages each name a next one, or as a stream of
// events.
func flood(e exchange) {
	e.Header().Set("Content-Type", "application/json")
	object := func(i int) string {
		metadata := fmt.Sprintf(`{"namespace":"flood","name":"c%d","resourceVersion":"%d"}`, i, i)
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":%s,"data":{"value":"%s"}}`, metadata,
			filling[:objectSize])
	}
	if e.request.URL.Query().Get("watch") == "" {
		e.send([]byte(`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"resourceVersion":"1",` +
			`"continue":"more"},"items":[` + object(1) + `]}`))
		return
	}
	for i := 1; i < fuse/objectSize && e.send([]byte(`{"type":"ADDED","object":`+object(i)+"}\n")); i++ {
	}
	panic(http.ErrAbortHandler)
}

// fill sends what the fuse allows, and cuts the request off.
func (e exchange) fill() {
	for sent := 0; sent < fuse && e.send(filling); sent += len(filling) {
	}
	panic(http.ErrAbortHandler)
}

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

// interim announces an answer, over and over, and never gives it.
func interim(e exchange) {
	e.take(func(w io.Writer) {
		for err := error(nil); err == nil; {
			select {
			case <-e.over:
				return
			default:
				_, err = io.WriteString(w, "HTTP/1.1 103 Early Hints\r\nLink: </"+e.server.canary+">\r\n\r\n")
			}
		}
	})
}

// hugeStatus refuses with a message that no status of an object can hold.
func hugeStatus(e exchange) {
	e.refuse(http.StatusUnprocessableEntity,
		`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Invalid","code":422,"message":"`+
			strings.Repeat("large ", statusSize/len("large "))+`"}`)
}
