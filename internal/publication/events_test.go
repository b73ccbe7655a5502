package publication

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// A testRecorder is a recorder whose events go to workspaces that it stands for, by any endpoint.
type testRecorder struct {
	eventRecorder

	// answer says by which code the next event of a workspace is answered, never if it is 0.
	answer  func(cluster string) int
	mu      sync.Mutex
	written map[string]int // by workspace and verb
}

// newTestRecorder returns a recorder that writes through one endpoint.
func newTestRecorder(t *testing.T, answer func(cluster string) int) (*testRecorder, *clusters.Cluster) {
	t.Helper()
	r, e := &testRecorder{answer: answer, written: map[string]int{}}, &clusters.Cluster{}
	r.of = map[writer]record.EventBroadcaster{}
	for share := range uint64(writers) {
		r.of[writer{e, share}] = newBroadcaster(func(cluster string) (dynamic.Interface, error) {
			return dynamic.NewForConfig(&rest.Config{Host: "http://" + cluster, Transport: r, QPS: -1})
		})
	}
	t.Cleanup(r.close)
	return r, e
}

// RoundTrip answers a request. Each workspace has a host of its own.
func (r *testRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	code := r.answer(req.URL.Host)
	r.written[req.URL.Host+" "+req.Method]++
	if code == 0 {
		r.mu.Unlock()
		<-req.Context().Done()
		r.mu.Lock()
		return nil, req.Context().Err()
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`)),
	}, nil
}

// want fails unless so many requests were sent to a workspace.
func (r *testRecorder) want(t *testing.T, cluster, verb string, written int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := r.written[cluster+" "+verb]; got != written {
		t.Errorf("workspace %s: want %d times %s, got %v", cluster, written, verb, r.written)
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

// TestStalledWorkspaces shows that recording waits for nobody, that a workspace which leaves an event unanswered gets
// no other one for a while, so that those of other workspaces are written, and that one that refuses some gets others.
func TestStalledWorkspaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, e := newTestRecorder(t, func(cluster string) int {
			return map[string]int{"stalled": 0, "refuses": http.StatusForbidden, "calm": http.StatusCreated}[cluster]
		})
		for i := range 100 {
			for _, cluster := range []string{"stalled", "refuses", "calm"} {
				r.record(e, cluster, thing(cluster, strconv.Itoa(i)), warning("no"))
			}
			synctest.Wait()
		}
		time.Sleep(2 * eventMax)
		r.want(t, "calm", http.MethodPost, 100)
		r.want(t, "refuses", http.MethodPost, 100)
		r.want(t, "stalled", http.MethodPost, 1)
		time.Sleep(silence)
		r.record(e, "stalled", thing("stalled", "later"), warning("no"))
		time.Sleep(2 * eventMax)
		r.want(t, "stalled", http.MethodPost, 2)
	})
}

// TestWarnings shows that a Warning is given once as long as each sync gives it, again if it has ended meanwhile, and
// again if the workspace took no events. One that has been written is counted, and costs no other event.
func TestWarnings(t *testing.T) {
	no, other := warning("no"), warning("other")
	for name, tc := range map[string]struct {
		reason        string
		hidden        int // so many syncs see a workspace that takes no events
		syncs         [][]objectsync.Event
		made, counted int
	}{
		"Repeats": {reason: "What repeats is given once.", syncs: [][]objectsync.Event{{no}, {no}, {no}}, made: 1},
		"Differs": {
			reason: "Another one is news.", syncs: [][]objectsync.Event{{no}, {other}, {no}}, made: 2, counted: 1,
		},
		"Again": {reason: "So is one that comes again.", syncs: [][]objectsync.Event{{no}, {}, {no}}, made: 1, counted: 1},
		"Accepted": {
			reason: "One that was hidden is given later.", hidden: 2,
			syncs: [][]objectsync.Event{{no}, {no}, {no}}, made: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, e := newTestRecorder(t, func(string) int { return http.StatusCreated })
				p := newTestPublication(t)
				p.worker.events = &r.eventRecorder
				for i, all := range tc.syncs {
					w := Workspace{Bound: true}
					if i < tc.hidden {
						w.Hidden = "events"
					}
					p.worker.workspaces.follow(Consumers{Workspaces: map[string]Workspace{"c": w}})
					at := p.worker.newPass(t.Context(), in("c", "web"))
					at.endpoint = &endpoint{cluster: e}
					at.tell(thing("c", "web"), all)
				}
				synctest.Wait()
				t.Log(tc.reason)
				r.want(t, "c", http.MethodPost, tc.made)
				r.want(t, "c", http.MethodPatch, tc.counted)
			})
		})
	}
}
