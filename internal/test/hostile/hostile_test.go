package hostile

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	canary = "canary-of-a-test"
	// patience is how long a client waits for the whole answer. A mode that stalls takes longer.
	patience = 500 * time.Millisecond
	// soon is how long a server may take that does not stall. A busy machine is slower than the server.
	soon = 20 * time.Second
	// enough is how many bytes of an answer a client reads.
	enough = 1 << 20
)

// newServers returns a Server in front of one that answers "fine" to all.
func newServers(t *testing.T, o Options) *Server {
	t.Helper()
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "fine")
		if r.URL.Query().Get("watch") == "true" {
			for r.Context().Err() == nil && http.NewResponseController(w).Flush() == nil {
				_, _ = io.WriteString(w, ".")
				time.Sleep(time.Millisecond) // It is a stream.
			}
		}
	}))
	t.Cleanup(func() { kube.EndServer(good) })
	o.Canary = canary
	return NewServer(t, &rest.Config{Host: good.URL}, o)
}

// ask sends a request and returns the status and the beginning of the body.
func ask(t *testing.T, s *Server, wait time.Duration, method, path string) (code int, body string, err error) {
	t.Helper()
	c, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.Config().Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, enough))
	return res.StatusCode, string(b), err
}

// TestVerbs shows that each request has the verb that its sender means.
func TestVerbs(t *testing.T) {
	for request, want := range map[string]Verb{
		"GET /version":                                       Probe,
		"GET /api":                                           Discovery,
		"GET /apis/apps/v1":                                  Discovery,
		"GET /clusters/root:a/apis":                          Discovery,
		"GET /openapi/v3":                                    Discovery,
		"GET /api/v1/namespaces/a":                           Get,
		"GET /api/v1/namespaces/a/configmaps/b":              Get,
		"GET /clusters/root:a/api/v1/nodes/b":                Get,
		"GET /api/v1/namespaces":                             List,
		"GET /api/v1/configmaps":                             List,
		"GET /apis/apps/v1/namespaces/a/deployments":         List,
		"GET /api/v1/pods?watch=true&sendInitialEvents=true": List,
		"GET /api/v1/pods?watch=true":                        Watch,
		"POST /api/v1/namespaces/a/configmaps":               Create,
		"PUT /api/v1/namespaces/a/configmaps/b":              Update,
		"PATCH /apis/apps/v1/namespaces/a/deployments/b":     Patch,
		"DELETE /api/v1/namespaces/a":                        Delete,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := verbOf(httptest.NewRequest(method, path, nil)); got != want {
			t.Errorf("%s: want %s, got %s", request, want, got)
		}
	}
}

// TestModes shows that a Server passes on what no mode is set for, that each mode harms in its way, and that healing
// ends it.
func TestModes(t *testing.T) {
	stalled := func(_ int, _ string, err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	broken := func(_ int, _ string, err error) bool { return err != nil && !errors.Is(err, context.DeadlineExceeded) }
	large := func(code int, body string, _ error) bool { return code >= 200 && len(body) >= enough }
	foreign := func(code int) func(int, string, error) bool {
		return func(got int, body string, _ error) bool { return got == code && strings.Contains(body, canary) }
	}
	status := func(code int) func(int, string, error) bool {
		return func(got int, body string, _ error) bool {
			return got == code && strings.Contains(body, `"kind":"Status"`)
		}
	}
	want := map[string]func(code int, body string, err error) bool{
		"StallAccept": stalled, "StallTLS": stalled, "ResetAccept": broken,
		"CertificateExpired": broken, "CertificateOfAnother": broken, "AuthorityRotated": broken,
		"StallAnswer": stalled, "StallHeaders": stalled, "StallBody": stalled, "Slow": stalled,
		"Late": stalled, "EverySecond": stalled, "ResetBody": broken,
		"StallGroups": stalled, "StallWatch": stalled, "Mute": stalled,
		"Status401": foreign(401), "Status403": foreign(403), "Status404": foreign(404), "Status409": foreign(409),
		"Status410": foreign(410),
		"Status429": foreign(429), "Status429RetryAfter": foreign(429), "Status500": foreign(500),
		"Status502": foreign(502),
		"Status503": foreign(503), "Status503RetryAfter": foreign(503), "ForeignPage": foreign(200),
		"ForeignKind": foreign(200), "Truncated": foreign(200), "Interim": broken,
		"ForeignProtocol": broken, "ForeignHeader": broken,
		"Redirect301": foreign(301), "Redirect302": foreign(302), "Redirect307": foreign(307),
		"Redirect308": foreign(308),
		"Forbidden":   status(403), "NoStreamedLists": status(422),
		"BombEndless": large, "BombGzip": large, "BombHeaders": broken, "BombStatus": large, "BombEvent": large,
		"Flood": large,
	}
	for _, m := range Modes() {
		t.Run(m.Name, func(t *testing.T) {
			harms, ok := want[m.Name]
			if !ok {
				t.Fatal("no test for it")
			}
			delete(want, m.Name)
			s := newServers(t, Options{HTTP1: m.HTTP1, Redirect: NewSink(t, canary)})
			const other = "/api/v1/namespaces/a/configmaps/b"
			verb, path := Get, other
			switch {
			case slices.Contains(m.Verbs, Watch):
				verb, path = Watch, "/api/v1/configmaps?watch=true"
			case slices.Contains(m.Verbs, List):
				verb, path = List, "/api/v1/configmaps?watch=true&sendInitialEvents=true"
			case m.For(Discovery) && !m.For(Get):
				verb, path = Discovery, "/api"
			}
			s.Set(m, verb)
			wait := soon
			if fmt.Sprintf("%p", harms) == fmt.Sprintf("%p", stalled) {
				wait = patience
			}
			code, body, err := ask(t, s, wait, http.MethodGet, path)
			if !harms(code, body, err) {
				t.Errorf("got %d, %d bytes, %v", code, len(body), err)
			}
			if s.Hits(verb) == 0 {
				t.Error("nothing is said to have met the mode")
			}
			if !m.Connection() {
				if _, body, err := ask(t, s, soon, http.MethodPatch, other); body != "fine" {
					t.Errorf("other verbs are passed on: got %q, %v", body, err)
				}
			}
			s.Heal()
			if _, body, err := ask(t, s, soon, http.MethodGet, other); body != "fine" {
				t.Errorf("a server that is well passes all on: got %q, %v", body, err)
			}
			if diff := cmp.Diff([]string(nil), s.redirect.Requests()); diff != "" {
				t.Errorf("nobody follows: -want, +got:\n%s", diff)
			}
		})
	}
	for name := range want {
		t.Errorf("there is no mode %s", name)
	}
}

// TestModesEndStreams shows that a stream that has begun goes silent, and breaks when the server has healed.
func TestModesEndStreams(t *testing.T) {
	s := newServers(t, Options{})
	c, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Get(s.Config().Host + "/api/v1/configmaps?watch=true&sendInitialEvents=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	read := make(chan error)
	go func() {
		b := make([]byte, 1)
		for {
			_, err := res.Body.Read(b)
			select {
			case read <- err:
			case <-t.Context().Done():
			}
			if err != nil {
				return
			}
		}
	}()
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	s.Set(Find(t, "Mute"), Watch)
	kube.Eventually(t, "silence", func() (bool, string) {
		select {
		case err := <-read:
			return false, fmt.Sprint(err)
		case <-time.After(patience):
			return true, ""
		}
	})
	s.Heal()
	kube.Eventually(t, "the end of the stream", func() (bool, string) {
		err := <-read
		return err != nil, ""
	})
}

// TestSinkRecords shows that a client that follows a redirect is caught.
func TestSinkRecords(t *testing.T) {
	sink := NewSink(t, canary)
	s := newServers(t, Options{Redirect: sink})
	s.Set(Find(t, "Redirect307"), Patch)
	c, err := rest.HTTPClientFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, s.Config().Host+"/api/v1/nodes/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got := sink.Requests(); len(got) != 1 || !strings.HasPrefix(got[0], "PATCH /api/v1/nodes/a") {
		t.Errorf("want one PATCH, got %q", got)
	}
}
