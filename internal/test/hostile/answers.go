package hostile

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// dripInterval is the pause between two bytes of a slow answer.
const dripInterval = time.Second

// beginning is how an answer begins that does not come to an end.
const beginning = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"value":"`

// foreign returns JSON that is no Kubernetes resource, as a metadata service of a cloud gives.
func foreign(canary string) string {
	return `{"Code":"Success","Type":"AWS-HMAC","SecretAccessKey":"` + canary + `"}`
}

// text returns text as many web servers give.
func text(canary string) string { return "page not found, SecretAccessKey " + canary + "\n" }

// redirect leads to the Sink of the Server.
func (e exchange) redirect(code int) {
	e.Header().Set("Location", e.server.redirect.server.URL+e.request.URL.Path)
	e.refuse(code, text(e.server.canary))
}

// refuse answers with a status and a body. A warning, which clients like to log, holds the canary.
func (e exchange) refuse(code int, body string) {
	if strings.HasPrefix(body, "{") {
		e.Header().Set("Content-Type", "application/json")
	}
	e.Header().Set("Warning", `299 - "SecretAccessKey `+e.server.canary+`"`)
	e.WriteHeader(code)
	_, _ = io.WriteString(e, body)
}

// raw answers with bytes instead of HTTP, and ends the connection. The Server must speak HTTP/1.1.
func (e exchange) raw(answer string) {
	e.take(func(w io.Writer) { _, _ = io.WriteString(w, answer) })
}

// take lets f write to the connection of the request, which it ends then.
func (e exchange) take(f func(w io.Writer)) {
	c, _, err := http.NewResponseController(e).Hijack()
	if err != nil {
		panic(fmt.Sprintf("a mode that needs HTTP/1.1 is set for a Server that speaks HTTP/2: %v", err))
	}
	defer c.Close() //nolint:errcheck // The client may have ended it.
	f(c)
}

// stallBody sends the headers and half of the body.
func stallBody(e exchange) {
	e.begin()
	e.hold()
}

// resetBody sends the headers and half of the body, and resets.
func resetBody(e exchange) {
	e.begin()
	panic(http.ErrAbortHandler)
}

// begin sends the headers and the beginning of the body.
func (e exchange) begin() {
	e.Header().Set("Content-Type", "application/json")
	e.send([]byte(beginning))
}

// drip sends a body without end, byte by byte.
func drip(e exchange) {
	e.Header().Set("Content-Type", "application/json")
	for i := 0; ; i++ {
		b := byte('a')
		if i < len(beginning) {
			b = beginning[i]
		}
		if !e.send([]byte{b}) {
			panic(http.ErrAbortHandler)
		}
		select {
		case <-e.over:
		case <-e.request.Context().Done():
		case <-time.After(dripInterval):
		}
	}
}

// stallGroups serves no kind, and stalls in the body of what tells of groups.
func stallGroups(e exchange) {
	if path := strings.Trim(e.request.URL.Path, "/"); path == "api" || path == "apis" {
		stallBody(e)
	}
	http.NotFound(e, e.request)
}
