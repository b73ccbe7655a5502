package informer

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// errDown is the error of a server that is not there.
var errDown = &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// A script is a server of one stream, which answers as a case wants it to.
type script struct {
	mu      sync.Mutex
	asked   []string // what was asked for, in order
	watches []*watch.FakeWatcher
	lasts   time.Duration // for how long the first watch was asked for
	fails   error         // all requests do
	lists   []time.Time
	behind  bool // it has gone back in its history
	streams bool // it takes requests for lists as streams, and never ends the lists
	other   bool // it is not known to be the same
}

// isSame reports whether the server says that it is the same.
func (s *script) isSame(_ context.Context, anew bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if anew {
		s.asked = append(s.asked, "who")
	}
	return !s.other
}

// end ends the watch under way, while the server answers all else with an error.
func (s *script) end(err error) {
	s.mu.Lock()
	s.fails = err
	w := s.watches[len(s.watches)-1]
	s.mu.Unlock()
	w.Stop()
	synctest.Wait()
	s.mu.Lock()
	s.fails = nil
	s.mu.Unlock()
}

// A scriptClient is a client of a script, whatever the resource is.
type scriptClient struct {
	dynamic.NamespaceableResourceInterface

	*script
}

func (c scriptClient) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return c
}

func (c scriptClient) Namespace(string) dynamic.ResourceInterface { return c }

func (c scriptClient) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.ResourceVersion != "" {
		c.asked = append(c.asked, "ask")
		if c.behind {
			return nil, apierrors.NewTimeoutError("Too large resource version", 1)
		}
		return &unstructured.UnstructuredList{}, c.fails
	}
	c.lists = append(c.lists, time.Now())
	c.asked = append(c.asked, "list")
	if c.fails != nil {
		return nil, c.fails
	}
	list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*at("a", "1")}}
	list.SetResourceVersion("1")
	return list, nil
}

func (c scriptClient) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.SendInitialEvents != nil && !c.streams {
		return nil, apierrors.NewBadRequest("no lists as streams")
	}
	what := "watch"
	if o.SendInitialEvents != nil {
		what = "stream"
	}
	c.asked = append(c.asked, what)
	if c.fails != nil {
		return nil, c.fails
	}
	if c.lasts == 0 {
		c.lasts = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	w := watch.NewFake()
	context.AfterFunc(ctx, w.Stop)
	c.watches = append(c.watches, w)
	return w, nil
}

// TestGuard shows when a watch is ended, and whether it is resumed or the server is listed again. Each case begins with
// a list and a watch.
func TestGuard(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		asks   bool // the server is asked who it is
		do     func(*script)
		want   []string
	}{
		"Same": {
			reason: "A server that is the same is asked whether it has come as far.",
			asks:   true,
			do:     func(s *script) { s.end(nil) },
			want:   []string{"who", "ask", "watch"},
		},
		"SameInTime": {
			reason: "A watch that the server ends in time is no reason to ask.",
			asks:   true,
			do:     func(s *script) { time.Sleep(s.lasts - time.Minute); s.end(nil) },
			want:   []string{"watch"},
		},
		"SameWasAway": {
			reason: "Who has been away is asked before it is listed.",
			asks:   true,
			do:     func(s *script) { time.Sleep(s.lasts - time.Minute); s.end(errDown) },
			want:   []string{"watch", "who", "who", "list", "watch"}, // This one gives no lists as streams.
		},
		"Another": {
			reason: "Another server, or one that does not say who it is, is listed, however far it has come.",
			asks:   true,
			do:     func(s *script) { s.other = true; s.end(nil) },
			want:   []string{"who", "who", "list", "watch"},
		},
		"Quiet": {
			reason: "A server that has nothing to tell may be silent as long as it has been asked to watch.",
			do:     func(s *script) { time.Sleep(s.lasts - 2*time.Minute) },
		},
		"InTime": {
			reason: "A watch that the server ends in time is resumed, and nothing else is asked.",
			do:     func(s *script) { time.Sleep(s.lasts - time.Minute); s.end(nil) },
			want:   []string{"watch"},
		},
		"Cut": {
			reason: "One that ends before its time is resumed if the server has come as far.",
			do:     func(s *script) { s.end(nil) },
			want:   []string{"ask", "watch"},
		},
		"CutAndRestored": {
			reason: "If the server has not come as far it is listed.",
			do: func(s *script) {
				s.behind = true
				s.end(nil)
			},
			want: []string{"ask", "list", "watch"},
		},
		"NeverEnds": {
			reason: "A watch that the server does not end is ended, and the server is listed.",
			do:     func(s *script) { time.Sleep(s.lasts + overdue) },
			want:   []string{"list", "watch"},
		},
		"Away": {
			reason: "A server that could not be reached is listed: it may have been restored.",
			do:     func(s *script) { s.end(errDown) },
			want:   []string{"ask", "list", "watch"},
		},
		"Fails": {
			reason: "So is one that has failed.",
			do:     func(s *script) { s.end(apierrors.NewInternalError(errDown)) },
			want:   []string{"ask", "list", "watch"},
		},
		"Starts": {
			reason: "One that refuses to resume a watch is asked, as a server that has just started refuses, too.",
			do: func(s *script) {
				time.Sleep(s.lasts - time.Minute)
				s.end(apierrors.NewTooManyRequestsError("busy"))
			},
			want: []string{"watch", "ask", "watch"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := &script{}, Options{Wake: func(Owner) {}}
				if tc.asks {
					o.IsSame = s.isSame
				}
				set := NewSet(scriptClient{script: s}, o)
				set.track(Owner{}, "test", WatchRequest{})
				time.Sleep(time.Minute) // A watch that ends at once counts as failed.
				synctest.Wait()
				tc.do(s)
				time.Sleep(10 * retryFailed)
				set.Close()
				synctest.Wait()
				want := append([]string{"list", "watch"}, tc.want...)
				if diff := cmp.Diff(want, s.asked); diff != "" {
					t.Errorf("%s\nasked for: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestStalledList shows that a list which came as a stream without an end is asked for otherwise.
func TestStalledList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{streams: true}
		set := NewSet(scriptClient{script: s}, Options{Wake: func(Owner) {}})
		set.track(Owner{}, "test", WatchRequest{})
		time.Sleep(listMost + retryFailed)
		set.Close()
		synctest.Wait()
		if diff := cmp.Diff([]string{"stream", "list", "watch"}, s.asked); diff != "" {
			t.Errorf("asked for: -want, +got:\n%s", diff)
		}
	})
}
