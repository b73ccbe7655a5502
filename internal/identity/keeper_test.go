package identity

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/oauth2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var errBoom = errors.New("boom")

// source is a Source that does as a test says, with the number of the attempt.
type source func(ctx context.Context, attempt int) (*oauth2.Token, error)

type counted struct {
	source   source
	attempts atomic.Int64
}

// mint does as the test says.
func (c *counted) mint(ctx context.Context) (*oauth2.Token, error) {
	return c.source(ctx, int(c.attempts.Add(1)))
}

// first returns a Source whose first token is one that a test gives, and whose next ones are good.
func first(do func() (*oauth2.Token, error)) source {
	return func(_ context.Context, attempt int) (*oauth2.Token, error) {
		if attempt == 1 {
			return do()
		}
		return &oauth2.Token{AccessToken: "a", Expiry: time.Now().Add(time.Hour)}, nil
	}
}

// TestKeeper shows that many callers share a token, and what is none: then the Source is asked again after a pause, and
// who needs one is told that it failed, and when it does no more.
func TestKeeper(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		first  func() (*oauth2.Token, error)
		fails  bool
	}{
		"Lasts": {reason: "A token that lasts is minted once.", first: func() (*oauth2.Token, error) {
			return &oauth2.Token{AccessToken: "a", Expiry: time.Now().Add(time.Hour)}, nil
		}},
		"Endless": {reason: "So is one without an end.", first: func() (*oauth2.Token, error) {
			return &oauth2.Token{AccessToken: "a"}, nil
		}},
		"Fails": {reason: "A Source may fail.", fails: true, first: func() (*oauth2.Token, error) { return nil, errBoom }},
		"Panic": {reason: "A panic is a failure.", fails: true, first: func() (*oauth2.Token, error) { panic(errBoom) }},
		"Ended": {reason: "A token that has ended is none.", fails: true, first: func() (*oauth2.Token, error) {
			return &oauth2.Token{AccessToken: "old", Expiry: time.Now().Add(-time.Second)}, nil
		}},
		"Unsendable": {
			reason: "Nor is one that no header can hold.", fails: true, first: func() (*oauth2.Token, error) {
				return &oauth2.Token{AccessToken: "a\r\nb"}, nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, told := &counted{source: first(tc.first)}, 0
				k := NewKeeper(t.Context(), s.mint, func() { told++ })
				attempts, changes := int64(1), 0
				if tc.fails {
					for range 2 {
						if _, err := k.Token(); !IsFailed(err) || k.Failure() == nil {
							t.Errorf("%s\nerror: want a failure, got %v", tc.reason, err)
						}
					}
					time.Sleep(retryPause)
					_, _ = k.Token() // It has the Source asked.
					synctest.Wait()
					attempts, changes = 2, 2
				}
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						if token, err := k.Token(); err != nil || token.AccessToken != "a" {
							t.Errorf("%s\ntoken: want a, got %v, %v", tc.reason, token, err)
						}
					})
				}
				all.Wait()
				if got := s.attempts.Load(); got != attempts || told != changes {
					t.Errorf("%s\nwant %d attempts and %d changes, got %d and %d", tc.reason, attempts, changes, got, told)
				}
			})
		})
	}
}

// TestKeeperDoesNotWait shows that a Source which does not answer holds nobody, and that what they are told is not for
// users: not before it has failed, and then it is the failure.
func TestKeeperDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{source: func(ctx context.Context, _ int) (*oauth2.Token, error) {
			<-ctx.Done()
			return nil, errBoom
		}}
		k := NewKeeper(t.Context(), s.mint, func() {})
		if _, err := k.Token(); !apierrors.IsConflict(err) {
			t.Errorf("error: want a conflict, got %v", err)
		}
		time.Sleep(Timeout + retryPause)
		synctest.Wait()
		for range 2 {
			if _, err := k.Token(); !errors.Is(err, errBoom) {
				t.Errorf("error: want the failure, got %v", err)
			}
		}
		time.Sleep(Timeout)
	})
}

// TestKeeperReplacesTokens shows that a token is replaced before it ends.
func TestKeeperReplacesTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{source: func(_ context.Context, attempt int) (*oauth2.Token, error) {
			return &oauth2.Token{AccessToken: string(rune('a' + attempt - 1)), Expiry: time.Now().Add(time.Hour)}, nil
		}}
		k := NewKeeper(t.Context(), s.mint, func() {})
		for _, want := range []string{"a", "a", "b"} {
			if token, err := k.Token(); err != nil || token.AccessToken != want {
				t.Errorf("token: want %s, got %v, %v", want, token, err)
			}
			time.Sleep((time.Hour-refreshEarly)/2 + time.Second)
		}
	})
}

// TestWrap shows that the token replaces what the request has, and leaves the request as it is.
func TestWrap(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Header.Get("Authorization")))
	}))
	defer server.Close()
	token, err := Static("a")
	if err != nil {
		t.Fatal(err)
	}
	rt := NewKeeper(t.Context(), token, func() {}).Wrap(http.DefaultTransport)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	req.Header.Set("Authorization", "Basic x")
	res, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b := make([]byte, 100)
	n, _ := res.Body.Read(b)
	if got := string(b[:n]); got != "Bearer a" || req.Header.Get("Authorization") != "Basic x" {
		t.Errorf("the server sees %q, the request has %q", got, req.Header.Get("Authorization"))
	}
}
