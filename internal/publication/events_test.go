package publication

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A testRecorder is a recorder with the name of a test, and stands for kcp, to which it writes.
type testRecorder struct {
	*eventRecorder

	t *testing.T
	// answer says by which code the next event of a workspace is answered, never if it is 0.
	answer  func(cluster string) int
	mu      sync.Mutex
	written map[string]int // by workspace
}

func newTestRecorder(t *testing.T, answer func(cluster string) int) *testRecorder {
	t.Helper()
	r := &testRecorder{eventRecorder: newEventRecorder(t.Name()), t: t, answer: answer, written: map[string]int{}}
	t.Cleanup(func() { forgetMetrics(t.Name()) })
	return r
}

func takesAll(string) int { return http.StatusCreated }

// RoundTrip answers a request. Each workspace has a host of its own.
func (r *testRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	code := r.answer(req.URL.Host)
	if code == 0 {
		r.mu.Unlock()
		<-req.Context().Done()
		r.mu.Lock()
		return nil, req.Context().Err()
	}
	if code == http.StatusCreated {
		r.written[req.URL.Host]++
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`)),
	}, nil
}

// client returns a client of a workspace.
func (r *testRecorder) client(cluster string) dynamic.Interface {
	r.t.Helper()
	c, err := dynamic.NewForConfig(&rest.Config{Host: "http://" + cluster, Transport: r, QPS: -1})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// recordOf records an event of an object.
func (r *testRecorder) recordOf(cluster, name string, e objectsync.Event) {
	r.t.Helper()
	r.record(cluster, r.client(cluster), thing(cluster, name), e)
}

// recordMany records events of as many objects.
func (r *testRecorder) recordMany(cluster string, n int) {
	r.t.Helper()
	client := r.client(cluster)
	for i := range n {
		r.record(cluster, client, thing(cluster, strconv.Itoa(i)), warning("no"))
	}
}

// want fails unless as many events of a workspace have been written, and dropped by reason.
func (r *testRecorder) want(cluster string, written int, dropped map[string]int) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := r.written[cluster]; got != written {
		r.t.Errorf("workspace %s: want %d events, got %d", cluster, written, got)
	}
	got := map[string]int{}
	for _, reason := range []string{dropRefused, dropQueueFull, dropUnanswered} {
		m := &dto.Metric{}
		if err := droppedEvents.WithLabelValues(r.t.Name(), corev1.EventTypeWarning, reason).Write(m); err != nil {
			r.t.Fatal(err)
		}
		if n := int(m.GetCounter().GetValue()); n > 0 {
			got[reason] = n
		}
	}
	if diff := cmp.Diff(dropped, got); diff != "" {
		r.t.Errorf("dropped: -want, +got:\n%s", diff)
	}
}

// thing returns an object of a workspace.
func thing(cluster, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "ws.example.com/v1", "kind": "Thing"}}
	u.SetName(name)
	u.SetNamespace("default")
	u.SetUID(types.UID(cluster + name))
	return u
}

func warning(message string) objectsync.Event {
	return objectsync.Event{Type: corev1.EventTypeWarning, Reason: "Because", Message: message}
}

// TestStalledWorkspaces shows that many workspaces which have thousands of events and leave them unanswered, as their
// webhooks decide, cost another one none of its own, and that all that are not written are counted.
func TestStalledWorkspaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stalled, beyond = 60, 100
		r := newTestRecorder(t, func(cluster string) int {
			if strings.HasPrefix(cluster, "stall") {
				return 0
			}
			return http.StatusCreated
		})
		for i := range stalled {
			cluster := "stall-" + strconv.Itoa(i)
			r.recordOf(cluster, "first", warning("no"))
			synctest.Wait() // By now it leaves a write unanswered.
			r.recordMany(cluster, eventsMost+beyond)
		}
		r.recordMany("calm", eventsMost)
		synctest.Wait()
		r.want("calm", eventsMost, map[string]int{dropQueueFull: stalled * beyond})
		r.writers.Wait()
		r.want("calm", eventsMost, map[string]int{
			dropQueueFull: stalled * beyond, dropUnanswered: stalled * (eventsMost + 1),
		})
	})
}

// TestRefusedEvents shows that what a server refuses is counted, and costs no other event.
func TestRefusedEvents(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			codes := []int{code, http.StatusCreated}
			r := newTestRecorder(t, func(string) int {
				defer func() { codes = codes[1:] }()
				return codes[0]
			})
			r.recordMany("c", len(codes))
			r.close()
			r.want("c", 1, map[string]int{dropRefused: 1})
		})
	}
}

// TestWarnings shows that a Warning is given once as long as each sync gives it, again if it has ended meanwhile, and
// again if there was no room for it, or if the workspace took no events.
func TestWarnings(t *testing.T) {
	no, other := warning("no"), warning("other")
	for name, tc := range map[string]struct {
		reason string
		hidden int // so many syncs see a workspace that takes no events
		syncs  [][]objectsync.Event
		want   int
	}{
		"Repeats": {reason: "What repeats is given once.", syncs: [][]objectsync.Event{{no}, {no}, {no}}, want: 1},
		"Differs": {reason: "Another one is news.", syncs: [][]objectsync.Event{{no}, {other}, {no}}, want: 3},
		"Again":   {reason: "So is one that comes again.", syncs: [][]objectsync.Event{{no}, {}, {no}}, want: 2},
		"Accepted": {
			reason: "One that was hidden is given later.", hidden: 2,
			syncs: [][]objectsync.Event{{no}, {no}, {no}}, want: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			r := newTestRecorder(t, takesAll)
			p := newTestPublication(t)
			p.worker.events = r.eventRecorder
			for i, all := range tc.syncs {
				w := Workspace{Bound: true}
				if i < tc.hidden {
					w.Hidden = "events"
				}
				p.worker.workspaces.follow(Consumers{Workspaces: map[string]Workspace{"c": w}})
				at := p.worker.newPass(t.Context(), in("c", "web"))
				at.workspace = r.client("c")
				at.tell(thing("c", "web"), all)
			}
			r.close()
			dropped := map[string]int{}
			if tc.hidden > 0 {
				dropped[dropRefused] = tc.hidden
			}
			r.want("c", tc.want, dropped)
		})
	}
}

// TestRepeatedEvents shows that an event that repeats costs a workspace few writes, and another event about its object
// none.
func TestRepeatedEvents(t *testing.T) {
	r := newTestRecorder(t, takesAll)
	for range 4 * repeatsMost {
		r.recordOf("c", "web", warning("the same"))
	}
	r.recordOf("c", "web", warning("another"))
	r.close()
	r.want("c", repeatsMost+1, map[string]int{})
}
