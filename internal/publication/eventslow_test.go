package publication

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// stallingWorkspaces stand for kcp: those whose names begin with "stall" do not answer, as their webhooks decide, and
// those whose names begin with "unserved" do not serve events.
type stallingWorkspaces struct {
	mu      sync.Mutex
	written map[string]int // by workspace
	hiccups map[string]int // how many more requests other workspaces do not answer
	notYet  map[string]int // for how many requests after those they do not serve events yet
}

// RoundTrip answers a request.
func (s *stallingWorkspaces) RoundTrip(req *http.Request) (*http.Response, error) {
	cluster, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if strings.HasPrefix(cluster, "stall") || s.count(s.hiccups, cluster) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	if strings.HasPrefix(cluster, "unserved") || s.count(s.notYet, cluster) {
		return &http.Response{
			StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Request: req,
			Body: io.NopCloser(strings.NewReader("404 page not found")),
		}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[cluster]++
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`)),
	}, nil
}

// count reports whether a workspace has requests left of a number of them, and takes one off.
func (s *stallingWorkspaces) count(left map[string]int, cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left[cluster] == 0 {
		return false
	}
	left[cluster]--
	return true
}

func (s *stallingWorkspaces) of(cluster string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written[cluster]
}

func (s *stallingWorkspaces) client(cluster string) (dynamic.Interface, error) {
	return dynamic.NewForConfig(&rest.Config{Host: "http://kcp/" + cluster, Transport: s, QPS: -1})
}

// TestStalledWorkspaces shows that many workspaces which leave events unanswered do not hold up the events of another.
func TestStalledWorkspaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stalled, events, soon = 60, 100, time.Minute
		s := &stallingWorkspaces{written: map[string]int{}}
		r := newEventRecorder(t.Name(), s.client)
		defer forgetMetrics(t.Name())
		defer r.close()
		for i := range stalled {
			for n := range 20 {
				r.recordOf(fmt.Sprint("stall-", i), strconv.Itoa(n), corev1.EventTypeNormal, "")
			}
		}
		time.Sleep(5 * time.Minute) // By now each has been found not to answer.
		for n := range events {
			r.recordOf("calm", strconv.Itoa(n), corev1.EventTypeNormal, "")
		}
		time.Sleep(soon)
		if got := s.of("calm"); got != events {
			t.Errorf("events of the other workspace after %s: want %d, got %d", soon, events, got)
		}
		time.Sleep(2 * eventAgeMax)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.queues) > 0 {
			t.Errorf("what is not answered is dropped in the end: %d workspaces have events", len(r.queues))
		}
	})
}

// TestUnservedEvents shows that a workspace which does not serve events is tried for a while, and then no more.
func TestUnservedEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 20
		s := &stallingWorkspaces{written: map[string]int{}}
		r := newEventRecorder(t.Name(), s.client)
		defer forgetMetrics(t.Name())
		defer r.close()
		for n := range events {
			r.recordOf("unserved", strconv.Itoa(n), corev1.EventTypeNormal, "")
		}
		time.Sleep(unservedMax / 2)
		if got := dropped(t, corev1.EventTypeNormal, dropExpired); got > 0 {
			t.Errorf("want no event dropped after %s, got %d", unservedMax/2, got)
		}
		time.Sleep(unservedMax + restMost)
		if got := dropped(t, corev1.EventTypeNormal, dropExpired); got != events {
			t.Errorf("want all %d events dropped in the end, got %d", events, got)
		}
	})
}

// TestEventsOfStart shows that events which have waited for minutes for a kcp that was away are written, although it
// says at its start that it does not serve events.
func TestEventsOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 20
		s := &stallingWorkspaces{
			written: map[string]int{}, hiccups: map[string]int{"start": 7}, notYet: map[string]int{"start": 1},
		}
		r := newEventRecorder(t.Name(), s.client)
		defer forgetMetrics(t.Name())
		defer r.close()
		for n := range events {
			r.recordOf("start", strconv.Itoa(n), corev1.EventTypeNormal, "")
		}
		time.Sleep(eventAgeMax)
		if got, lost := s.of("start"), dropped(t, corev1.EventTypeNormal, dropExpired); got != events || lost > 0 {
			t.Errorf("want %d events written and none dropped, got %d and %d", events, got, lost)
		}
	})
}

// TestEventsOfUnknownWorkspace shows that events wait for a workspace that no endpoint shows for the moment.
func TestEventsOfUnknownWorkspace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stallingWorkspaces{written: map[string]int{}}
		asked := 0
		r := newEventRecorder(t.Name(), func(cluster string) (dynamic.Interface, error) {
			if asked++; asked <= 3 {
				return nil, errors.New("no endpoint shows it")
			}
			return s.client(cluster)
		})
		defer forgetMetrics(t.Name())
		defer r.close()
		r.recordOf("c", "web", corev1.EventTypeWarning, "")
		time.Sleep(time.Minute)
		if got := s.of("c"); got != 1 {
			t.Errorf("want the event written, got %d", got)
		}
	})
}

// TestEventQueueExpires shows that what is too old is taken from wherever it waits, and nothing else.
func TestEventQueueExpires(t *testing.T) {
	now := time.Now()
	q := newEventQueue(10)
	for name, age := range map[string]time.Duration{"old": time.Hour, "new": time.Second} {
		for _, kind := range []string{corev1.EventTypeNormal, corev1.EventTypeWarning} {
			e := &queuedEvent{first: now.Add(-age)}
			e.Type, e.Reason = kind, name
			q.add(e)
		}
		later := &queuedEvent{first: now.Add(-age), due: now.Add(time.Minute)}
		later.Type, later.Reason = corev1.EventTypeNormal, name+" later"
		q.add(later)
	}
	expired := map[string]int{}
	for _, e := range q.expire(now.Add(-time.Minute)) {
		expired[e.Type+" "+e.Reason]++
	}
	if diff := cmp.Diff(map[string]int{"Normal old": 1, "Warning old": 1, "Normal old later": 1}, expired); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if len(q.waiting) != 3 {
		t.Errorf("want three left, got %d", len(q.waiting))
	}
}
