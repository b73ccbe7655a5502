package publication

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

var errBoom = errors.New("boom")

func in(cluster, name string) objectsync.Primary {
	return objectsync.Primary{Cluster: cluster, NamespacedName: types.NamespacedName{Name: name}}
}

// web returns the object of a workspace that webIn describes.
func web(cluster string) objectsync.Primary {
	item := in(cluster, "web")
	item.Namespace = "default"
	return item
}

// newTestPublication returns a publication of things without streams.
func newTestPublication(t *testing.T) *publication {
	t.Helper()
	p, err := newPublication(t.Name(), Config{Sync: thingsWithSecrets(), shared: newShared()}, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.worker.objects.queue.ShutDown()
		p.worker.events.close()
		p.cancel()
	})
	return p
}

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

// A server stands for a service cluster that has copies alone, and for an endpoint that has objects and tells of
// events.
type server struct {
	objects, copies []any
	answers         map[string]http.HandlerFunc // to requests for paths, before all that follows
	refuses         atomic.Bool                 // all writes
	deleted         atomic.Int64                // copies that were to be deleted
	events          chan any
	late            chan struct{} // Nothing is told of resource lates before it is closed.
	streams, open   atomic.Int64  // that have begun, and that are open by now
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
	things := strings.HasSuffix(r.URL.Path, clusters.AllClusters+"/apis/ws.example.com/v1/things")
	switch {
	case r.URL.Query().Get("watch") != "":
		s.streams.Add(1)
		s.open.Add(1)
		defer s.open.Add(-1)
		s.stream(w, r, things)
	case s.answers[r.URL.Path] != nil:
		s.answers[r.URL.Path](w, r)
	case r.Method != http.MethodGet && s.refuses.Load():
		forbid(w, r)
	case things:
		answer(http.StatusOK, list(s.objects))(w, r)
	case r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/things/"):
		s.deleted.Add(1)
		answer(http.StatusOK, map[string]any{})(w, r)
	case strings.HasSuffix(r.URL.Path, "/apis/example.org/v1/things"):
		answer(http.StatusOK, list(s.copies))(w, r)
	case strings.HasSuffix(r.URL.Path, "/version"):
		answer(http.StatusOK, map[string]any{"major": "1"})(w, r)
	default:
		answer(http.StatusOK, list(nil))(w, r)
	}
}

// answer returns what answers with a code and an object.
func answer(code int, object any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(object) // Who does not get it fails.
	}
}

// refuse returns what answers with an error.
func refuse(err *apierrors.StatusError) http.HandlerFunc {
	is := err.Status()
	is.APIVersion, is.Kind = "v1", "Status"
	return answer(int(is.Code), is)
}

// forbid answers that nothing is allowed.
var forbid = refuse(apierrors.NewForbidden(schema.GroupResource{}, "", errBoom))

func list(items []any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": "1"},
		"items": append([]any{}, items...),
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
		send("BOOKMARK", map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{
				"resourceVersion": "1", "annotations": map[string]any{"k8s.io/initial-events-end": "true"},
			},
		})
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

// copyOfWebIn returns the copy of an object of a workspace.
func copyOfWebIn(cluster string) any {
	return map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{
		"namespace": cluster, "name": "web", "uid": "copy", "resourceVersion": "1",
		"labels": map[string]any{
			v1alpha1.LabelKeyAgentName: "agent", objectsync.LabelCluster: cluster,
			objectsync.LabelNameHash:      gotemplate.SHA1("web"),
			objectsync.LabelNamespaceHash: gotemplate.SHA1("default"),
		},
		"annotations": map[string]any{
			objectsync.AnnotationName: "web", objectsync.AnnotationNamespace: "default",
			objectsync.AnnotationKind: "Thing.ws.example.com",
		},
	}}
}

// A wire leads to a server in memory, so that the time of synctest does not wait for a network.
type wire struct {
	context.Context

	conns chan net.Conn
	end   context.CancelFunc
}

// Accept is that of a listener.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.Done():
		return nil, net.ErrClosed
	}
}

// Close is that of a listener.
func (w *wire) Close() error { w.end(); return nil }

// Addr is that of a listener.
func (w *wire) Addr() net.Addr { return &net.UnixAddr{} }

func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case w.conns <- there:
		return here, nil
	case <-w.Done():
		return nil, net.ErrClosed
	}
}

// startWired starts a server in memory, and returns what connects to any URL, which leads to it.
func startWired(t *testing.T, h http.Handler) func(url string) *clusters.Cluster {
	t.Helper()
	w := &wire{conns: make(chan net.Conn)}
	w.Context, w.end = context.WithCancel(context.Background())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(w) }() // It ends with an error.
	t.Cleanup(func() { _ = srv.Close() })
	return connecting(t, &rest.Config{Host: "http://wire", Transport: &http.Transport{DialContext: w.dial}})
}

// startServer starts a server, and returns its URL and what connects to a URL of it.
func startServer(t *testing.T, h http.Handler) (string, func(url string) *clusters.Cluster) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL, connecting(t, &rest.Config{Host: srv.URL})
}

// connecting returns what connects to a URL in the way of a configuration.
func connecting(t *testing.T, cfg *rest.Config) func(url string) *clusters.Cluster {
	t.Helper()
	registry, err := clusters.NewRegistry(clusters.Options{Injected: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(registry.Close)
	injected := commonv1.Connection{Spec: &commonv1.ProviderConfigSpec{
		Credentials: commonv1.ProviderCredentials{Source: xpv2.CredentialsSourceInjectedIdentity},
	}}
	return func(url string) *clusters.Cluster {
		o := informer.Owner{Controller: "test", NamespacedName: types.NamespacedName{Name: url}}
		injected.Endpoint = url
		c, err := registry.Connect(t.Context(), o, injected)
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

// boundTo returns workspaces that have bound the API.
func boundTo(url string, workspaces []string) map[string]Workspace {
	out := map[string]Workspace{}
	for _, cluster := range workspaces {
		out[cluster] = Workspace{Endpoint: url, Bound: true}
	}
	return out
}

// newThings returns a publication of things, with consumers in workspaces of the one endpoint of a server.
func newThings(t *testing.T, h http.Handler, workspaces ...string) (*publication, Consumers) {
	t.Helper()
	url, connect := startServer(t, h)
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

// open opens a publication until the test ends, and waits until it sees what servers show.
func open(t *testing.T, p *publication) {
	t.Helper()
	p.open()
	t.Cleanup(p.stop)
	p.worker.await(p.ctx)
}

// run opens a publication, and has it sync objects.
func run(t *testing.T, p *publication) {
	t.Helper()
	open(t, p)
	p.running.Go(p.run)
}

// retry has an object tried once more, and waits until it has been.
func retry(t *testing.T, p *publication, item objectsync.Primary) {
	t.Helper()
	p.worker.objects.queue.Add(item)
	kube.Eventually(t, "an empty queue", func() (bool, string) { return p.worker.objects.queue.Len() == 0, "" })
}
