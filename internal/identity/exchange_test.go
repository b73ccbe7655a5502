package identity

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestExchange shows what is said of an answer, and that the library still sees all of it.
func TestExchange(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		status int
		answer string
		want   string
	}{
		"Code": {
			reason: "A refusal has a code of OAuth.",
			status: 401,
			answer: `{"error":"invalid_client","error_description":"hunter2"}`,
			want:   "the token endpoint responds with 401 Unauthorized, invalid_client",
		},
		"NoCode": {
			reason: "What is no such code is not repeated.",
			status: 400,
			answer: `{"error":"hunter2 is wrong"}`,
			want:   "the token endpoint responds with 400 Bad Request",
		},
		"LongOne": {
			reason: "Nor is what is too long for one.",
			status: 400,
			answer: `{"error":"` + strings.Repeat("a", 100) + `"}`,
			want:   "the token endpoint responds with 400 Bad Request",
		},
		"NoJSON": {
			reason: "An answer need not be JSON.",
			status: 503,
			answer: `hunter2`,
			want:   "the token endpoint responds with 503 Service Unavailable",
		},
		"Fine": {reason: "If all went well the library knows better.", status: 200, answer: `{}`, want: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.answer))
			}))
			defer server.Close()
			e := NewExchange(t.Context())
			res, err := e.Client().Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if b, err := io.ReadAll(res.Body); err != nil || string(b) != tc.answer {
				t.Errorf("%s\nthe library sees %q and %v", tc.reason, b, err)
			}
			if got := e.Reason("unknown"); got != tc.want {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestExchangeIsBounded shows that an endless answer, which a tenant's endpoint may give, ends.
func TestExchangeIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, maxAnswer/4); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	e := NewExchange(t.Context())
	res, err := e.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || len(b) != maxAnswer {
		t.Errorf("want %d bytes, got %d and %v", maxAnswer, len(b), err)
	}
}

func TestExchangeWithoutServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e := NewExchange(t.Context())
	if res, err := e.Client().Get(server.URL); err == nil {
		_ = res.Body.Close()
		t.Fatal("there must be no answer")
	}
	if got := e.Reason("unknown"); !strings.Contains(got,
		"cannot reach the token endpoint: connect: connection refused") {
		t.Errorf("got %q", got)
	}
}
