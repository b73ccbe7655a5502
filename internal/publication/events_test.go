package publication

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// bare404 is an answer 404 without a Status, as of a server that serves no events.
const bare404 = -http.StatusNotFound

// An eventServer takes events for workspaces, each under a path of its own.
type eventServer struct {
	mu      sync.Mutex
	written map[string]int64 // by workspace
	// refuses answers a request that is refused. It is asked for each.
	refuses func(cluster string) (code int)
}

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cluster, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	code := s.refuses(cluster)
	if code == bare404 {
		http.NotFound(w, r)
		return
	}
	if code != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q}`, code,
			strings.ReplaceAll(http.StatusText(code), " ", ""))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[cluster]++
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`))
}

// of returns how many events of a workspace have been written.
func (s *eventServer) of(cluster string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written[cluster]
}

// newEventServer starts a server, and returns a recorder that writes to it and has the name of the test.
func newEventServer(t *testing.T, refuses func(cluster string) int) (*eventServer, *testRecorder) {
	t.Helper()
	s := &eventServer{written: map[string]int64{}, refuses: refuses}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, newTestRecorder(t, func(cluster string) (dynamic.Interface, error) {
		return dynamic.NewForConfig(&rest.Config{Host: srv.URL + "/" + cluster, QPS: -1})
	})
}

// A testRecorder is a recorder with the name of a test, and with what connects it to workspaces.
type testRecorder struct {
	*eventRecorder

	t        *testing.T
	clientOf func(cluster string) (dynamic.Interface, error)
}

func newTestRecorder(t *testing.T, clientOf func(cluster string) (dynamic.Interface, error)) *testRecorder {
	t.Helper()
	r := &testRecorder{eventRecorder: newEventRecorder(t.Name()), t: t, clientOf: clientOf}
	t.Cleanup(func() {
		r.close()
		forgetMetrics(t.Name())
	})
	return r
}

func takesAll(string) int { return 0 }

// recordOf records an event of an object.
func (r *testRecorder) recordOf(cluster, name, kind, message string) {
	r.t.Helper()
	client, err := r.clientOf(cluster)
	if err != nil {
		r.t.Fatal(err)
	}
	r.record(cluster, client, thing(cluster, name), objectsync.Event{Type: kind, Reason: "Because", Message: message})
}

// thing returns an object of a workspace.
func thing(cluster, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "ws.example.com/v1", "kind": "Thing"}}
	u.SetName(name)
	u.SetNamespace("default")
	u.SetUID(types.UID(cluster + name))
	return u
}

// dropped returns how many events of a type have been dropped for a reason.
func dropped(t *testing.T, kind, reason string) int64 {
	t.Helper()
	m := &dto.Metric{}
	if err := droppedEvents.WithLabelValues(t.Name(), kind, reason).Write(m); err != nil {
		t.Fatal(err)
	}
	return int64(m.GetCounter().GetValue())
}

// TestEventsOfOneWorkspace shows that 10,000 events of one workspace cost another none of its own, that as many are
// written as its queue holds, and that all others are counted.
func TestEventsOfOneWorkspace(t *testing.T) {
	const burst, few = 10000, 100
	slow := make(chan struct{})
	s, r := newEventServer(t, func(cluster string) int {
		if cluster == "busy" {
			<-slow
		}
		return 0
	})
	for i := range burst {
		r.recordOf("busy", strconv.Itoa(i), corev1.EventTypeNormal, "")
	}
	for i := range few {
		r.recordOf("calm", strconv.Itoa(i), corev1.EventTypeNormal, "")
	}
	kube.Eventually(t, "all events of the other workspace", func() (bool, string) {
		written := s.of("calm")
		return written == few, strconv.FormatInt(written, 10)
	})
	close(slow)
	kube.Eventually(t, "each event written or counted", func() (bool, string) {
		written := s.of("busy")
		lost := dropped(t, corev1.EventTypeNormal, "QueueFull")
		return written >= eventsMost && written+lost == burst, fmt.Sprintf("%d written, %d dropped", written, lost)
	})
}

// TestRefusedEvents shows that what a server refuses is counted, and costs no other event.
func TestRefusedEvents(t *testing.T) {
	for name, code := range map[string]int{
		"Forbidden": http.StatusForbidden, "NoNamespace": http.StatusNotFound, "NotServed": bare404,
		"Broken": http.StatusInternalServerError,
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			s, r := newEventServer(t, func(string) int {
				if asked.Add(1) == 1 {
					return code
				}
				return 0
			})
			r.recordOf("c", "web", corev1.EventTypeWarning, "no")
			r.recordOf("c", "other", corev1.EventTypeWarning, "no")
			r.close()
			got := map[string]int64{"written": s.of("c"), "refused": dropped(t, corev1.EventTypeWarning, dropRefused)}
			if diff := cmp.Diff(map[string]int64{"written": 1, "refused": 1}, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
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
		want   int64
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
			s, r := newEventServer(t, takesAll)
			p := newTestPublication(t)
			p.worker.events = r.eventRecorder
			client, err := r.clientOf("c")
			if err != nil {
				t.Fatal(err)
			}
			for i, all := range tc.syncs {
				w := Workspace{Bound: true}
				if i < tc.hidden {
					w.Hidden = "events"
				}
				p.worker.workspaces.follow(Consumers{Workspaces: map[string]Workspace{"c": w}})
				at := p.worker.newPass(t.Context(), in("c", "web"))
				at.workspace = client
				at.tell(thing("c", "web"), all)
			}
			r.close()
			got := map[string]int64{"written": s.of("c"), "dropped": dropped(t, corev1.EventTypeWarning, dropRefused)}
			if diff := cmp.Diff(map[string]int64{"written": tc.want, "dropped": int64(tc.hidden)}, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func warning(message string) objectsync.Event {
	return objectsync.Event{Type: corev1.EventTypeWarning, Reason: "Because", Message: message}
}

// TestRepeatedEvents shows that an event that repeats costs a workspace few writes, and another event about its object
// none.
func TestRepeatedEvents(t *testing.T) {
	s, r := newEventServer(t, takesAll)
	for range 4 * repeatsMost {
		r.recordOf("c", "web", corev1.EventTypeNormal, "the same")
	}
	r.recordOf("c", "web", corev1.EventTypeNormal, "another")
	r.close()
	if got := s.of("c"); got != repeatsMost+1 {
		t.Errorf("want %d events, got %d", repeatsMost+1, got)
	}
}
