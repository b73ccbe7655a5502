package hostile

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// lateBy is how long a late answer takes: less than a request may stay unanswered until it counts as late.
const lateBy = 4 * time.Second

// dripInterval is the pause between two bytes of a slow answer.
const dripInterval = time.Second

// beginning is how an answer begins that does not come to an end.
const beginning = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"value":"`

// foreign returns JSON that is no Kubernetes resource, as a metadata service of a cloud gives.
func foreign(canary string) string {
	return `{"Code":"Success","Type":"AWS-HMAC","SecretAccessKey":"` + canary + `"}`
}

// page returns a page as proxies give.
func page(canary string) string {
	return "<html><head><title>" + canary + "</title></head><body><h1>Bad Gateway</h1><hr>SecretAccessKey " + canary +
		"</body></html>"
}

// text returns text as many web servers give.
func text(canary string) string { return "page not found, SecretAccessKey " + canary + "\n" }

// status returns a metav1.Status.
func status(code int, reason string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,`+
		`"message":"refused by the server"}`, code, reason)
}

// refuse answers with a status, a body and headers, name and value in turn. A warning, which clients like to log, holds
// the canary.
func (e exchange) refuse(code int, body string, headers ...string) {
	h := e.Header()
	h.Set("Content-Type", contentType(body))
	h.Set("Warning", `299 - "SecretAccessKey `+e.server.canary+`"`)
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	e.WriteHeader(code)
	_, _ = io.WriteString(e, body)
}

func contentType(body string) string {
	switch {
	case strings.HasPrefix(body, "{"):
		return "application/json"
	case strings.HasPrefix(body, "<"):
		return "text/html"
	}
	return "text/plain"
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

// stallHeaders sends half of the headers.
func stallHeaders(e exchange) {
	e.take(func(w io.Writer) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Le")
		<-e.over // Nobody tells of a client that has gone.
	})
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

// late passes a request on after a while.
func late(e exchange) {
	select {
	case <-e.over:
	case <-e.request.Context().Done():
	case <-time.After(lateBy):
	}
	e.passOn()
}

// everySecond keeps every second request waiting, the first included, and passes the others on.
func everySecond(e exchange) {
	if e.server.Hits(verbOf(e.request))%2 == 1 {
		e.hold()
	}
	e.passOn()
}

// passOn passes a request on to the API server.
func (e exchange) passOn() {
	e.server.pass.ServeHTTP(&stream{ResponseWriter: e.ResponseWriter, server: e.server, request: e.request}, e.request)
}

// stallGroups serves no kind, and stalls in the body of what tells of groups.
func stallGroups(e exchange) {
	if path := strings.Trim(e.request.URL.Path, "/"); path == "api" || path == "apis" {
		stallBody(e)
	}
	http.NotFound(e, e.request)
}

// stallWatch begins a stream in which nothing happens.
func stallWatch(e exchange) {
	e.Header().Set("Content-Type", "application/json")
	e.send(nil)
	e.hold()
}

// plainLists refuses lists as streams, as servers do that do not know them.
func plainLists(e exchange) {
	if e.request.URL.Query().Get("watch") == "true" {
		e.refuse(http.StatusUnprocessableEntity, status(http.StatusUnprocessableEntity, "Invalid"))
		return
	}
	e.server.pass.ServeHTTP(e.ResponseWriter, e.request)
}
