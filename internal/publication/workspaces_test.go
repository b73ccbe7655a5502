package publication

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// drain returns the names of all that a queue hands out, sorted.
func drain(q workqueue.TypedDelayingInterface[objectsync.Primary]) []string {
	var names []string
	for q.Len() > 0 {
		p, _ := q.Get()
		q.Done(p)
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// A counted queue knows how often something was added.
type counted struct {
	workqueue.TypedDelayingInterface[objectsync.Primary]

	added atomic.Int64
}

func (c *counted) Add(p objectsync.Primary) {
	c.added.Add(1)
	c.TypedDelayingInterface.Add(p)
}

// A server stands for a service cluster that has nothing, and for an endpoint that has objects and tells of events.
type server struct {
	objects []any
	copies  []any // of the service cluster
	// bindings answers who asks for all of an endpoint. Nil shows none.
	bindings http.HandlerFunc
	deleted  atomic.Int64 // copies that were to be deleted
	forbids  bool         // all writes
	events   chan any
	late     chan struct{} // Nothing is told of resource lates before it is closed.
	streams  atomic.Int64
	open     atomic.Int64 // streams by now
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/lates") {
		select {
		case <-s.late:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	answer, things := map[string]any{"major": "1"}, strings.HasSuffix(r.URL.Path,
		clusters.AllClusters+"/apis/ws.example.com/v1/things")
	switch {
	case r.URL.Query().Get("watch") != "":
		s.streams.Add(1)
		s.open.Add(1)
		defer s.open.Add(-1)
		s.stream(w, r, things)
		return
	case s.forbids && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusForbidden)
		answer = map[string]any{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden",
			"code": http.StatusForbidden,
		}
	case things:
		answer = list(s.objects)
	case r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/things/"):
		s.deleted.Add(1)
	case strings.HasSuffix(r.URL.Path, "/apis/example.org/v1/things"):
		answer = list(s.copies)
	case s.bindings != nil && strings.HasSuffix(r.URL.Path,
		clusters.AllClusters+"/apis/apis.kcp.io/v1alpha2/apibindings"):
		s.bindings(w, r)
		return
	case !strings.HasSuffix(r.URL.Path, "/version"):
		answer = list([]any{})
	}
	_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // Who does not get it fails.
}

func list(items []any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
	}
}

// A departed is an event that an object is gone.
type departed struct{ object any }

// stream sends the events of an endpoint until the client goes. Who asks for a list that way is told of copies alone.
func (s *server) stream(w http.ResponseWriter, r *http.Request, things bool) {
	send := func(kind string, object any) {
		event := map[string]any{"type": kind, "object": object}
		_ = json.NewEncoder(w).Encode(event) //nolint:errchkjson // Who does not get it fails.
		_ = http.NewResponseController(w).Flush()
	}
	_ = http.NewResponseController(w).Flush()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		if strings.HasSuffix(r.URL.Path, "/apis/example.org/v1/things") {
			for _, u := range s.copies {
				send("ADDED", u)
			}
		}
		send("BOOKMARK", map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
			"resourceVersion": "1", "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
		}})
	}
	events := s.events
	if !things {
		events = nil
	}
	for {
		select {
		case u := <-events:
			if gone, is := u.(departed); is {
				send("DELETED", gone.object)
				continue
			}
			send("MODIFIED", u)
		case <-r.Context().Done():
			return
		}
	}
}

// webIn returns an object of a workspace.
func webIn(cluster, version string) any {
	return map[string]any{"apiVersion": "ws.example.com/v1", "kind": "Thing", "metadata": map[string]any{
		"namespace": "default", "name": "web", "uid": cluster, "resourceVersion": version,
		"annotations": map[string]any{"kcp.io/cluster": cluster},
	}}
}

func (s *server) start(t *testing.T) (string, func(url string) *clusters.Cluster) {
	t.Helper()
	return startServer(t, s)
}

// startServer starts a server, and returns its URL and what connects to a URL of it.
func startServer(t *testing.T, h http.Handler) (string, func(url string) *clusters.Cluster) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	registry, err := clusters.NewRegistry(clusters.Options{Injected: &rest.Config{Host: srv.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(registry.Close)
	injected := commonv1.Connection{Spec: &commonv1.ProviderConfigSpec{
		Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
	}}
	return srv.URL, func(url string) *clusters.Cluster {
		o := informer.Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: url}}
		c, err := registry.ConnectTo(t.Context(), o, injected, url)
		if c == nil {
			t.Fatal(err)
		}
		return c
	}
}

// thingsWithSecrets is what objectsync is told of things that name Secrets of their workspaces.
func thingsWithSecrets() objectsync.Config {
	of := func(group, resource, kind string) objectsync.Resource {
		return objectsync.Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource},
			Kind:                 kind, Scope: v1alpha1.ScopeNamespaced,
		}
	}
	secrets := objectsync.Pair{Workspace: of("", "secrets", "Secret"), Service: of("", "secrets", "Secret")}
	naming := &v1alpha1.ResourceNaming{Name: "$remoteName"}
	spec := &v1alpha1.PublishedResourceSpec{Naming: naming, Related: []v1alpha1.RelatedResource{{
		Identifier: "tls", Origin: v1alpha1.OriginKCP, Kind: "Secret", Object: &v1alpha1.RelatedResourceObject{
			RelatedResourceObjectSpec: v1alpha1.RelatedResourceObjectSpec{
				Reference: &v1alpha1.FieldReference{Path: "spec.secretName"},
			},
		},
	}}}
	return objectsync.Config{
		Spec: spec, Agent: "agent", StateNamespace: "states", Related: map[string]objectsync.Pair{"tls": secrets},
		Primary: objectsync.Pair{
			Workspace: of("ws.example.com", "things", "Thing"), Service: of("example.org", "things", "Thing"),
		},
	}
}

// resting waits until nothing has been counted for a while, and returns what has been, and how many goroutines there
// are.
func (s *server) resting(t *testing.T, q *counted, least int64) (added, streams int64, routines int) {
	t.Helper()
	last, since := int64(0), time.Now()
	kube.Eventually(t, "rest", func() (bool, string) {
		if now := q.added.Load() + s.streams.Load(); now != last {
			last, since = now, time.Now()
		}
		return q.added.Load() >= least && time.Since(since) > time.Second/2, strconv.FormatInt(last, 10)
	})
	return q.added.Load(), s.streams.Load(), runtime.NumGoroutine()
}

// boundTo returns workspaces that have bound the API.
func boundTo(url string, workspaces []string) map[string]Workspace {
	out := map[string]Workspace{}
	for _, cluster := range workspaces {
		out[cluster] = Workspace{Endpoint: url, Bound: true}
	}
	return out
}

// newThings returns a publication of things, with consumers in workspaces of the one endpoint of a server.
func newThings(t *testing.T, url string, connect func(url string) *clusters.Cluster,
	workspaces ...string,
) (*publication, Consumers) {
	t.Helper()
	consumers := Consumers{Workspaces: boundTo(url, workspaces)}
	consumers.Endpoints = []Endpoint{{URL: url, Cluster: connect(url + clusters.AllClusters), Listed: true}}
	p, err := newPublication("things", Config{
		Consumers: consumers, Service: connect(url), shared: newShared(), Sync: thingsWithSecrets(),
	}, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.worker.events.close)
	return p, consumers
}

// TestManyWorkspaces shows that another workspace costs neither a stream nor a goroutine, nor a look at what is known
// already beside its own, and that a change in one is told of once, however many there are.
func TestManyWorkspaces(t *testing.T) {
	const few, many = 2, 500
	s := &server{events: make(chan any)}
	var workspaces []string
	for i := range many {
		workspaces = append(workspaces, fmt.Sprintf("c%d", i))
		s.objects = append(s.objects, webIn(workspaces[i], "1"))
	}
	url, connect := s.start(t)
	p, consumers := newThings(t, url, connect, workspaces[:few]...)
	q := &counted{TypedDelayingInterface: p.worker.objects.queue}
	p.worker.objects.queue = q
	p.open()
	defer p.stop()
	added, streams, routines := s.resting(t, q, many)
	consumers.Workspaces = boundTo(url, workspaces)
	p.adapt(consumers)
	nowAdded, nowStreams, nowRoutines := s.resting(t, q, many)
	if nowAdded != added+many-few || nowStreams != streams || nowRoutines > routines+many/10 {
		t.Errorf("with %d workspaces more: looks at objects %d, now %d; streams %d, now %d; goroutines %d, now %d",
			many-few, added, nowAdded, streams, nowStreams, routines, nowRoutines)
	}
	s.events <- webIn(workspaces[0], "2")
	if again, _, _ := s.resting(t, q, nowAdded+1); again != nowAdded+1 {
		t.Errorf("a change in one workspace: want one look, got %d", again-nowAdded)
	}
}

// TestOnlyOfBound shows that objects are synced of workspaces alone whose bindings are shown, whatever the endpoint
// shows of others: once they are shown, at once, and not while nobody tells of bindings.
func TestOnlyOfBound(t *testing.T) {
	s := &server{objects: []any{webIn("bound", "1"), webIn("late", "1")}, forbids: true}
	url, connect := s.start(t)
	p, consumers := newThings(t, url, connect, "bound")
	p.open()
	p.worker.await(p.ctx)
	p.running.Go(p.run)
	defer p.stop()
	tried := func(want int64) (bool, string) {
		got := p.status().Failed // All writes are.
		return got == want, strconv.FormatInt(got, 10)
	}
	late := in("late", "web")
	late.Namespace = "default"
	again := func() {
		p.worker.objects.queue.Add(late)
		kube.Eventually(t, "an empty queue", func() (bool, string) { return p.worker.objects.queue.Len() == 0, "" })
	}
	kube.Eventually(t, "a try of the one", func() (bool, string) { return tried(1) })
	kube.Holds(t, "one is tried", func() (bool, string) { return tried(1) }, again)

	consumers.Workspaces = boundTo(url, []string{"bound", "late"})
	p.adapt(consumers)
	kube.Eventually(t, "a try of the other", func() (bool, string) { return tried(2) })

	unknown := Consumers{Endpoints: []Endpoint{consumers.Endpoints[0]}}
	unknown.Endpoints[0].Listed = false
	p.adapt(unknown)
	kube.Holds(t, "both stay what they were", func() (bool, string) { return tried(2) }, again)
}
