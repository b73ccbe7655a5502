package informer

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// A script is a server of one stream, which answers as a case wants it to.
type script struct {
	mu      sync.Mutex
	asked   []string // what was asked for, in order
	watches []*watch.FakeWatcher
	lasts   time.Duration // for how long the first watch was asked for
	down    bool          // it refuses all
	version string        // the newest it has
}

func (s *script) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := "list"
	if o.FieldSelector != "" {
		what = "ask"
	}
	s.asked = append(s.asked, what)
	switch {
	case s.down:
		return nil, errors.New("connection lost")
	case newer(o.ResourceVersion, s.version):
		return nil, apierrors.NewTimeoutError("Too large resource version", 1)
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetResourceVersion(s.version)
	return list, nil
}

func (s *script) WatchWithContext(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, "watch")
	if s.down {
		return nil, errors.New("connection lost")
	}
	if s.lasts == 0 {
		s.lasts = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	w := watch.NewFake()
	s.watches = append(s.watches, w)
	return w, nil
}

func (*script) IsWatchListSemanticsUnSupported() bool { return true }

func (s *script) last() *watch.FakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[len(s.watches)-1]
}

func (s *script) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// bookmark sends a bookmark.
func (s *script) bookmark(version string) { s.last().Action(watch.Bookmark, at("", version)) }

// TestGuard shows when a watch is ended, and whether it is resumed or the server is asked or listed again. Each case
// begins with a list and a watch.
func TestGuard(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		single bool
		do     func(*script)
		want   []string
	}{
		"Quiet": {
			reason: "A server that has nothing to tell may be silent as long as it has been asked to watch.",
			do:     func(s *script) { time.Sleep(s.lasts - 2*time.Minute) },
		},
		"InTime": {
			reason: "A watch that the server ends in time is resumed, and nothing else is asked.",
			do:     func(s *script) { time.Sleep(s.lasts - time.Minute); s.last().Stop() },
			want:   []string{"watch"},
		},
		"NeverEnds": {
			reason: "A watch that the server does not end is ended, and the server is asked whether it has come as far.",
			do:     func(s *script) { time.Sleep(s.lasts + overdue + time.Second) },
			want:   []string{"ask", "watch"},
		},
		"NoMoreBookmarks": {
			reason: "So is one of a server that has sent a bookmark, and nothing for longer than it takes to send the next.",
			do:     func(s *script) { s.bookmark("9"); time.Sleep(bookmarkMost + time.Second) },
			want:   []string{"ask", "watch"},
		},
		"Bookmarks": {
			reason: "A server that goes on to send bookmarks is alive.",
			do: func(s *script) {
				for range 3 {
					s.bookmark("9")
					time.Sleep(time.Minute)
				}
			},
		},
		"Cut": {
			reason: "A watch that ends before its time may be resumed if the server has come as far.",
			do:     func(s *script) { s.last().Stop() },
			want:   []string{"ask", "watch"},
		},
		"CutOfOne": {
			reason: "That of one resource is listed again, which takes no more than to ask.",
			single: true,
			do:     func(s *script) { s.last().Stop(); time.Sleep(2 * retryFailed) },
			want:   []string{"list", "watch"},
		},
		"CutAndRestored": {
			reason: "If the server has not come as far it is listed again.",
			do: func(s *script) {
				s.set(func() { s.version = "5" })
				s.last().Stop()
				time.Sleep(2 * retryFailed)
			},
			want: []string{"ask", "list", "watch"},
		},
		"Away": {
			reason: "A server that could not be asked is listed again.",
			do: func(s *script) {
				s.set(func() { s.down = true })
				s.last().Stop()
				time.Sleep(time.Second)
				s.set(func() { s.down = false })
				time.Sleep(2 * retryFailed)
			},
			want: []string{"ask", "list", "watch"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{version: "9"}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				st := newStore(func(types.NamespacedName, Owner) {}, func() {}, func() {})
				g := &watchSupervisor{ListerWatcherWithContext: s, single: tc.single}
				r := cache.NewReflectorWithOptions(g, &unstructured.Unstructured{},
					supervisedStore{bookmarkStore: st, supervisor: g}, reflectorOptions(feedKey{}))
				go func() {
					for ctx.Err() == nil {
						_ = r.ListAndWatchWithContext(ctx) // What follows shows.
						time.Sleep(retryFailed)
					}
				}()
				synctest.Wait()
				time.Sleep(time.Minute) // A watch that ends at once counts as failed.
				synctest.Wait()
				tc.do(s)
				synctest.Wait()
				s.mu.Lock()
				defer s.mu.Unlock()
				want := append([]string{"list", "watch"}, tc.want...)
				if diff := cmp.Diff(want, s.asked); diff != "" {
					t.Errorf("%s\nasked for: -want, +got:\n%s", tc.reason, diff)
				}
				cancel()
				time.Sleep(retryFailed)
			})
		})
	}
}
