package informer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refusing returns a Set whose server refuses everything.
func refusing() (*script, *Set) {
	s := &script{fails: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no rights"))}
	return s, NewSet(scriptClient{script: s}, Options{Wake: func(Owner) {}})
}

// asks returns how often the server has been asked.
func (s *script) asks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// TestRefusedAtStart shows that a refusal soon after a kick, which tells that the server is back, is taken for a
// passing one: a server that starts does not know yet who has which rights.
func TestRefusedAtStart(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		begin  func(s *Set, track func())
	}{
		"Resting": {
			reason: "A stream that rests is tried again, and does not rest for long.",
			begin:  func(s *Set, track func()) { track(); s.Kick() },
		},
		"New": {
			reason: "Nor does one that begins only after the kick.",
			begin:  func(s *Set, track func()) { s.Kick(); track() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, set := refusing()
				tc.begin(set, func() {
					set.track(Owner{}, "test", WatchRequest{})
					synctest.Wait()
					if _, err := set.Get(t.Context(), Owner{}, "test", WatchRequest{}); !IsDenied(err) {
						t.Errorf("want a refusal, got %v", err)
					}
				})
				synctest.Wait()
				s.mu.Lock()
				s.fails = nil
				s.mu.Unlock()
				time.Sleep(retryDenied / 2) // Before a stream that is denied for good would be tried again.
				if u, err := set.Get(t.Context(), Owner{}, "test", WatchRequest{}); err != nil {
					t.Errorf("%s Got %v, %v", tc.reason, u, err)
				}
				set.Close()
				synctest.Wait()
			})
		})
	}
}

// TestLookInsistsOnce shows that a look at a stream which the server denies, and nobody can read live, has it tried
// again once, and no more: whoever looks does not tell that the server is back, as a kick does.
func TestLookInsistsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, set := refusing()
		i := WatchRequest{Stream: StreamAllWorkspaces}
		set.track(Owner{}, "test", i)
		time.Sleep(2 * retryFailed)
		once := s.asks()
		for range 2 {
			if _, err := set.List(t.Context(), Owner{}, "test", i); !IsDenied(err) {
				t.Errorf("want a refusal, got %v", err)
			}
			synctest.Wait()
		}
		time.Sleep(4 * retryFailed)
		if got := s.asks(); got != 2*once {
			t.Errorf("want twice as many requests as at first, %d, got %d", once, got)
		}
		set.Close()
		synctest.Wait()
	})
}
