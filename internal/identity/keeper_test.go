package identity

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var errBoom = errors.New("boom")

// source is a Source that does as a test says, with the number of the attempt.
type source func(ctx context.Context, attempt int) (Token, error)

type counted struct {
	source   source
	attempts atomic.Int64
}

// Token does as the test says.
func (c *counted) Token(ctx context.Context) (Token, error) {
	return c.source(ctx, int(c.attempts.Add(1)))
}

const (
	soon  = 2 * time.Minute
	never = time.Hour
)

func TestKeeper(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		source   source
		want     string // the token in the end
		attempts int64
	}{
		"Once": {
			reason: "A token that lasts is minted once.", want: "a", attempts: 1,
			source: func(context.Context, int) (Token, error) {
				return Token{Value: "a", Expiry: time.Now().Add(never)}, nil
			},
		},
		"Endless": {
			reason: "So is one without an end.", want: "a", attempts: 1,
			source: func(context.Context, int) (Token, error) { return Token{Value: "a"}, nil },
		},
		"Retries": {
			reason: "A Source that fails is asked again.", want: "a", attempts: 2,
			source: func(_ context.Context, attempt int) (Token, error) {
				if attempt == 1 {
					return Token{}, errBoom
				}
				return Token{Value: "a"}, nil
			},
		},
		"Panic": {
			reason: "A panic is a failure like any other.", want: "a", attempts: 2,
			source: func(_ context.Context, attempt int) (Token, error) {
				if attempt == 1 {
					panic(errBoom)
				}
				return Token{Value: "a"}, nil
			},
		},
		"Ended": {
			reason: "A token that has ended is none.", want: "a", attempts: 2,
			source: func(_ context.Context, attempt int) (Token, error) {
				if attempt == 1 {
					return Token{Value: "old", Expiry: time.Now().Add(-time.Second)}, nil
				}
				return Token{Value: "a"}, nil
			},
		},
		"Unsendable": {
			reason: "Nor is one that no header can hold.", want: "a", attempts: 2,
			source: func(_ context.Context, attempt int) (Token, error) {
				if attempt == 1 {
					return Token{Value: "a\r\nb"}, nil
				}
				return Token{Value: "a"}, nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &counted{source: tc.source}
			k := NewKeeper(t.Context(), s, func() {}, func() {})
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					kube.Eventually(t, "a token", func() (bool, string) {
						token, err := k.get(t.Context(), soon)
						return err == nil && token == tc.want, fmt.Sprint(token, err)
					})
				})
			}
			all.Wait()
			if got := s.attempts.Load(); got != tc.attempts {
				t.Errorf("%s\nattempts: want %d, got %d", tc.reason, tc.attempts, got)
			}
		})
	}
}

// TestKeeperTellsWhenThereIsAToken shows that those who were told of a failure are told of its end, and nobody is told
// of anything else.
func TestKeeperTellsWhenThereIsAToken(t *testing.T) {
	told := make(chan struct{}, 10)
	s := &counted{source: func(_ context.Context, attempt int) (Token, error) {
		if attempt == 1 {
			return Token{}, errBoom
		}
		return Token{Value: "a"}, nil
	}}
	k := NewKeeper(t.Context(), s, func() { told <- struct{}{} }, func() {})
	if _, err := k.get(t.Context(), soon); !IsFailed(err) || !errors.Is(err, errBoom) {
		t.Errorf("error: want the failure, got %v", err)
	}
	select {
	case <-told:
	case <-time.After(soon):
		t.Fatal("nobody is told")
	}
	if err := k.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if len(told) > 0 {
		t.Error("told twice")
	}
}

// TestKeeperDoesNotWait shows that a Source which does not answer holds nobody, and that what they are told is not for
// users.
func TestKeeperDoesNotWait(t *testing.T) {
	told := make(chan struct{})
	t.Cleanup(func() { close(told) })
	s := &counted{source: func(context.Context, int) (Token, error) {
		<-told
		return Token{}, errBoom
	}}
	k := NewKeeper(t.Context(), s, func() {}, func() {})
	if err := k.Ready(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("error: want a conflict, got %v", err)
	}
}

// TestKeeperRenewsInUse shows that a token is replaced before it ends, while it is still used, and that a failure to do
// so harms nobody before it has ended.
func TestKeeperRenewsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const life = 10 * time.Second // The failure, two seconds before its end, is followed by a success one second later.
		s := &counted{source: func(_ context.Context, attempt int) (Token, error) {
			if attempt == 2 {
				return Token{}, errBoom
			}
			return Token{Value: string(rune('a' + attempt - 1)), Expiry: time.Now().Add(life)}, nil
		}}
		k := NewKeeper(t.Context(), s, func() {}, func() {})
		for begin := time.Now(); ; time.Sleep(time.Second / 100) {
			token, err := k.get(t.Context(), soon)
			if err != nil {
				t.Fatalf("no token after %s: %v", time.Since(begin), err)
			}
			if token == "c" {
				return // The first, a failure, and the next.
			}
			if time.Since(begin) > life {
				t.Fatal("it is not renewed")
			}
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
	rt := NewKeeper(t.Context(), token, func() {}, func() {}).Wrap(http.DefaultTransport)
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
