package target

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
)

// TestFailuresAreStable shows that errors of connections are equal each time, so that conditions do not flap, and hold
// nothing that the server has sent.
func TestFailuresAreStable(t *testing.T) {
	for _, mode := range []string{
		"ForeignProtocol", "ForeignHeader", "BombHeaders", "ResetBody", "ResetAccept", "CertificateExpired",
		"CertificateOfAnother", "AuthorityRotated",
	} {
		t.Run(mode, func(t *testing.T) {
			m := hostile.Find(t, mode)
			s := hostile.NewServer(t, &rest.Config{Host: "http://127.0.0.1"}, hostile.Options{HTTP1: m.HTTP1})
			s.Set(m)
			first := errorText(fail(t, s))
			for tick := time.Now().Unix(); time.Now().Unix() == tick; { // Errors may hold a time, in seconds.
				_ = fail(t, s)
			}
			second := errorText(fail(t, s))
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("the same failure a second later: -first, +second:\n%s", diff)
			}
			if first == "" || strings.Contains(first, "canary") || strings.Contains(first, "stream ID") {
				t.Errorf("got %q", first)
			}
			t.Log(first)
		})
	}
}

// fail returns the error of a request to a server, or of the read of its answer.
func fail(t *testing.T, s *hostile.Server) error {
	t.Helper()
	transport, err := rest.TransportFor(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Config().Host+"/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.ReadAll(res.Body); err != nil {
		return err
	}
	t.Fatal("the request has not failed")
	return nil
}
