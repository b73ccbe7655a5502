package publication

import (
	"encoding/json"
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
	mu     sync.Mutex
	events map[string]map[string]int64 // counts by the objects of events, by workspace
	// refuses answers a request that is refused. It is asked for each.
	refuses func(cluster string) (code int)
	names   map[string]string // objects by the names of events
}

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cluster, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	u := &unstructured.Unstructured{}
	_ = json.NewDecoder(r.Body).Decode(&u.Object)
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
	if s.events[cluster] == nil {
		s.events[cluster] = map[string]int64{}
	}
	count, _, _ := unstructured.NestedInt64(u.Object, "count")
	if f, ok := u.Object["count"].(float64); ok {
		count = int64(f)
	}
	object, _, _ := unstructured.NestedString(u.Object, "involvedObject", "name")
	name := u.GetName()
	if r.Method == http.MethodPatch {
		name = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		object = s.names[name]
	}
	s.names[name] = object
	s.events[cluster][object] = count
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"` + name + `"}}`))
}

// total returns how many events of a workspace there are, and how often they have happened.
func (s *eventServer) total(cluster string) (written, happened int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, count := range s.events[cluster] {
		written++
		happened += count
	}
	return written, happened
}

// newEventServer starts a server, and returns a recorder that writes to it and has the name of the test.
func newEventServer(t *testing.T, refuses func(cluster string) int) (*eventServer, *testRecorder) {
	t.Helper()
	s := &eventServer{events: map[string]map[string]int64{}, names: map[string]string{}, refuses: refuses}
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
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "ws.example.com/v1", "kind": "Thing"}}
	u.SetName(name)
	u.SetNamespace("default")
	u.SetUID(types.UID(cluster + name))
	p := objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
	r.record(p, u, client, []objectsync.Event{{Type: kind, Reason: "Because", Message: message}})
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
		written, _ := s.total("calm")
		return written == few, strconv.FormatInt(written, 10)
	})
	close(slow)
	kube.Eventually(t, "each event written or counted", func() (bool, string) {
		written, _ := s.total("busy")
		lost := dropped(t, corev1.EventTypeNormal, "QueueFull")
		return written >= eventsMost && written+lost == burst, fmt.Sprintf("%d written, %d dropped", written, lost)
	})
}

// TestDroppedWarning shows that a Warning that was dropped does not count as given: it is given again when its object
// fails once more, and then no more.
func TestDroppedWarning(t *testing.T) {
	cases := map[string]struct {
		reason string
		code   int
	}{
		"Forbidden": {
			reason: "A workspace that refuses events gets them when it takes them.",
			code:   http.StatusForbidden,
		},
		"NotFound": {
			reason: "So does one whose namespace is not there yet.",
			code:   http.StatusNotFound,
		},
		"NotServed": {
			reason: "So does one of a kcp that serves no events yet.",
			code:   bare404,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var code atomic.Int64
			code.Store(int64(tc.code))
			s, r := newEventServer(t, func(string) int { return int(code.Load()) })
			r.recordOf("c", "web", corev1.EventTypeWarning, "no")
			awaitDropped(t, corev1.EventTypeWarning, dropRefused, 1)
			code.Store(0)
			for range 3 {
				r.recordOf("c", "web", corev1.EventTypeWarning, "no")
			}
			r.close()
			written, happened := s.total("c")
			// It has happened twice: the first time was not written.
			if diff := cmp.Diff([]int64{1, 2}, []int64{written, happened}); diff != "" {
				t.Errorf("%s Warnings, and how often they have happened: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEventsAreHidden shows that nothing is written to a workspace that takes no events, and that it gets the Warning
// when it does.
func TestEventsAreHidden(t *testing.T) {
	s, r := newEventServer(t, takesAll)
	connect := r.clientOf
	var hidden dynamic.Interface
	r.clientOf = func(string) (dynamic.Interface, error) { return hidden, nil }
	r.recordOf("c", "web", corev1.EventTypeWarning, "no")
	awaitDropped(t, corev1.EventTypeWarning, dropRefused, 1)
	r.clientOf = connect
	r.recordOf("c", "web", corev1.EventTypeWarning, "no")
	r.close()
	if written, happened := s.total("c"); written != 1 || happened != 1 {
		t.Errorf("want the Warning once, got %d, which have happened %d times", written, happened)
	}
}

// TestRepeatedEvents shows that an event that repeats is counted and not made again, and costs a workspace few writes,
// and another event about its object none.
func TestRepeatedEvents(t *testing.T) {
	var requests atomic.Int64
	s, r := newEventServer(t, func(string) int {
		requests.Add(1)
		return 0
	})
	const times, most = 80, 40
	for i := range times {
		r.recordOf("c", "web", corev1.EventTypeNormal, "the same")
		if i == 0 {
			kube.Eventually(t, "the first of them", func() (bool, string) {
				written, _ := s.total("c")
				return written == 1, strconv.FormatInt(written, 10)
			})
		}
	}
	r.recordOf("c", "web", corev1.EventTypeNormal, "another")
	r.close()
	if got := requests.Load(); got > most {
		t.Errorf("%d events have cost %d requests", times, got)
	}
	if got := s.names; len(got) != 2 {
		t.Errorf("want two events, got %d", len(got))
	}
}

// awaitDropped waits until so many events of a type have been dropped for a reason.
func awaitDropped(t *testing.T, kind, reason string, want int64) {
	t.Helper()
	kube.Eventually(t, "dropped events", func() (bool, string) {
		got := dropped(t, kind, reason)
		return got == want, strconv.FormatInt(got, 10)
	})
}
