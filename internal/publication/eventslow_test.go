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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// stallingWorkspaces stand for kcp: those whose names begin with "stall" do not answer, as their webhooks decide.
type stallingWorkspaces struct {
	mu      sync.Mutex
	written map[string]int // by workspace
}

// RoundTrip answers a request.
func (s *stallingWorkspaces) RoundTrip(req *http.Request) (*http.Response, error) {
	cluster, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if strings.HasPrefix(cluster, "stall") {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[cluster]++
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`)),
	}, nil
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
		const stalled, events = 60, eventsMost
		s := &stallingWorkspaces{written: map[string]int{}}
		r := newTestRecorder(t, s.client)
		defer r.close()
		for i := range stalled {
			for n := range 20 {
				r.recordOf(fmt.Sprint("stall-", i), strconv.Itoa(n), corev1.EventTypeNormal, "")
			}
		}
		synctest.Wait() // By now each of them leaves a write unanswered.
		for n := range events {
			r.recordOf("calm", strconv.Itoa(n), corev1.EventTypeNormal, "")
		}
		synctest.Wait()
		if got := s.of("calm"); got != events {
			t.Errorf("events of the other workspace: want %d, got %d", events, got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := dropped(t, corev1.EventTypeNormal, dropUnanswered); got != stalled*20 {
			t.Errorf("want all %d events dropped that are not answered, got %d", stalled*20, got)
		}
	})
}
