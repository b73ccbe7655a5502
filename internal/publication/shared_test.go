package publication

import (
	"encoding/base64"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// sharedSecret is a Secret of the service cluster that objects of several PublishedResources may refer to.
var sharedSecret = objectsync.Ref{
	Version: "v1", Resource: "secrets", Kind: "Secret", Namespace: "kube-system", Name: "web-tls",
}

// holding returns what an object has of the shared Secret.
func holding(p objectsync.Primary) objectsync.Holding {
	to := sharedSecret
	to.Namespace = "default"
	return objectsync.Holding{
		Primary: p, Record: objectsync.Record{Identifier: "tls", Origin: v1alpha1.OriginService, From: sharedSecret, To: to},
	}
}

// openHolders returns what a publication of a PublishedResource shares.
func openHolders(s *shared, name string) *holders {
	h := &holders{shared: s, name: name}
	h.open()
	return h
}

// users returns the workspaces of those who have the shared Secret.
func users(h *holders) set[string] {
	out := set[string]{}
	for _, x := range h.Holdings("", sharedSecret) {
		out[x.Primary.Cluster] = struct{}{}
	}
	return out
}

// TestLedger shows that a publication knows what objects of others are related to, in whatever version, as long as
// those run, and not those of a publication that it takes over from.
func TestLedger(t *testing.T) {
	one, two := newShared(), newShared()
	a, b, next, elsewhere := openHolders(one, "a"), openHolders(one, "b"), openHolders(one, "a"), openHolders(two, "a")
	a.set(in("victim", "web"), []objectsync.Holding{holding(in("victim", "web"))})
	b.add(in("thief", "web"), []objectsync.Holding{holding(in("thief", "web"))}, nil)
	both, thief := set[string]{"victim": {}, "thief": {}}, set[string]{"thief": {}}
	for name, tc := range map[string]struct {
		reason string
		of     *holders
		want   set[string]
	}{
		"Own":    {reason: "A publication knows its own objects and those of others.", of: a, want: both},
		"Others": {reason: "So does the other one.", of: b, want: both},
		"Next": {
			reason: "One that takes over goes by the states, not by what the last one knows.",
			of:     next,
			want:   thief,
		},
		"Elsewhere": {
			reason: "Another service cluster has other Secrets of these names.",
			of:     elsewhere,
			want:   set[string]{},
		},
	} {
		if diff := cmp.Diff(tc.want, users(tc.of)); diff != "" {
			t.Errorf("%s: %s\n-want, +got:\n%s", name, tc.reason, diff)
		}
	}
	older := holding(in("older", "web"))
	older.From.Version, older.To.Version = "v1beta1", "v1beta1"
	b.set(older.Primary, []objectsync.Holding{older})
	if diff := cmp.Diff([]objectsync.Holding{older}, a.Holdings("older", holding(older.Primary).To)); diff != "" {
		t.Errorf("of the copy in another version: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(set[string]{"victim": {}, "thief": {}, "older": {}}, users(a)); diff != "" {
		t.Errorf("of the object in another version: -want, +got:\n%s", diff)
	}
	b.Drop(older)
	b.Drop(holding(in("thief", "web")))
	a.close()
	if diff := cmp.Diff(set[string]{}, users(b)); diff != "" {
		t.Errorf("after one has been dropped and the other closed: -want, +got:\n%s", diff)
	}
}

// TestLedgerOfStates shows that states speak for objects whose PublishedResource is not served yet, until they are
// gone.
func TestLedgerOfStates(t *testing.T) {
	l := newShared()
	b := openHolders(l, "b")
	const records = `[{"identifier":"tls","origin":"service","from":{"version":"v1","resource":"secrets",` +
		`"kind":"Secret","namespace":"kube-system","name":"web-tls"},` +
		`"to":{"version":"v1","resource":"secrets","kind":"Secret","namespace":"default","name":"web-tls"}}]`
	n := types.NamespacedName{Namespace: "states", Name: "obj-state-victim-0"}
	state := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"namespace": n.Namespace, "name": n.Name, "labels": map[string]any{objectsync.LabelCluster: "victim"},
		},
		"data": map[string]any{"related": base64.StdEncoding.EncodeToString([]byte(records))},
	}}
	want := holding(objectsync.Primary{Cluster: "victim"})
	want.State, want.Kept = n, true
	l.note(n, func(types.NamespacedName) *unstructured.Unstructured { return state })
	if diff := cmp.Diff([]objectsync.Holding{want}, b.Holdings("", sharedSecret)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	l.note(n, func(types.NamespacedName) *unstructured.Unstructured { return nil })
	if got := b.Holdings("", sharedSecret); len(got) != 0 {
		t.Errorf("after the state is gone: got %v", got)
	}
}

// stateOfWeb returns the state of an object of a workspace whose copy is in the namespace of that name.
func stateOfWeb(p *publication, cluster string) *unstructured.Unstructured {
	n := p.worker.syncer.StateOf(web(cluster))
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"namespace": n.Namespace, "name": n.Name, "resourceVersion": "2",
			"labels": map[string]any{objectsync.LabelState: "true", objectsync.LabelCluster: cluster},
		},
		"data": map[string]any{"copy": base64.StdEncoding.EncodeToString(
			[]byte(`{"namespace":"` + cluster + `","name":"web"}`))},
	}}
}

// TestHasCopies shows that each publication knows whether a namespace has copies of a workspace, by whatever
// publication, that who labels an object there as a copy of its own has none, and that one whose kind is not served any
// more keeps nobody.
func TestHasCopies(t *testing.T) {
	forged := copyOfWebIn("thief").(map[string]any)
	maps.Copy(forged["metadata"].(map[string]any), map[string]any{"namespace": "victim", "name": "forged"})
	s := &server{copies: []any{copyOfWebIn("victim"), forged}}
	p, _ := newThings(t, s)
	open(t, p)
	p.worker.streams.states.Put(stateOfWeb(p, "victim"))
	gone, _ := newThings(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/example.org/") {
			http.NotFound(w, r)
			return
		}
		(&server{}).ServeHTTP(w, r)
	}))
	gone.worker.holders.shared = p.worker.config.shared
	open(t, gone)
	other := &holders{shared: p.worker.config.shared, name: "other"}
	for cluster, want := range map[string]bool{"victim": true, "thief": false} {
		if got, err := other.HasCopies("victim", cluster); got != want || err != nil {
			t.Errorf("workspace %s: want %t, got %t, %v", cluster, want, got, err)
		}
	}
}

// A leftNamespace stands for a service cluster with a namespace ns that a copy has left.
type leftNamespace struct {
	looks            func() // called when the namespace is looked through
	refuses          bool   // looks through the namespace
	creates          func() // called when something is being created in it
	created, deleted atomic.Int64
}

func (s *leftNamespace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`
	switch {
	case r.Method == http.MethodDelete:
		s.deleted.Add(1)
	case r.Method == http.MethodPost:
		s.creates()
		s.created.Add(1)
		answer = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"ns","name":"a","resourceVersion":"1"}}`
	case r.URL.Path == "/api":
		answer = `{"kind":"APIVersions","versions":["v1"]}`
	case r.URL.Path == "/apis":
		answer = `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`
	case r.URL.Path == "/api/v1":
		answer = `{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
			`{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["list","delete"]}]}`
	case strings.HasSuffix(r.URL.Path, "/namespaces/ns"):
		answer = `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ns","uid":"1","resourceVersion":"1",` +
			`"labels":{"` + objectsync.LabelCreatedFor + `":"agent"}}}`
	case strings.HasSuffix(r.URL.Path, "/namespaces/ns/configmaps") && s.refuses:
		w.WriteHeader(http.StatusForbidden)
		answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	case strings.HasSuffix(r.URL.Path, "/namespaces/ns/configmaps"):
		s.looks()
	}
	_, _ = w.Write([]byte(answer))
}

// TestLeftNamespace shows that an empty namespace is deleted, that nothing is created in one that is looked through,
// and that one in which something is being created is not deleted.
func TestLeftNamespace(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	s := &leftNamespace{looks: func() {}, creates: func() {}}
	p, _ := newThings(t, s)
	open(t, p) // The server answers.
	c := &namespaceCleaner{config: p.worker.config, streams: p.worker.streams}
	lock := p.worker.config.shared.locks.of("ns")
	locked := false
	s.looks = func() {
		if locked = !lock.TryRLock(); !locked {
			lock.RUnlock()
		}
	}
	if done, err := c.delete(t.Context(), "ns"); !done || err != nil || s.deleted.Load() != 1 || !locked {
		t.Fatalf("want it deleted, and locked meanwhile, got %t, %v, locked %t", done, err, locked)
	}

	create := func() {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetNamespace("ns")
		u.SetName("a")
		below := &side{
			pass: p.worker.newPass(t.Context(), objectsync.Primary{}), client: p.worker.config.Service.Dynamic(),
		}
		r := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		if _, err := below.Create(t.Context(), r, u); err != nil {
			t.Error(err)
		}
	}
	lock.Lock()
	go create()
	created := func(want int64) func() (bool, string) {
		return func() (bool, string) {
			got := s.created.Load()
			return got == want, strconv.FormatInt(got, 10)
		}
	}
	kube.Holds(t, "nothing is created", created(0), func() {})
	lock.Unlock()
	kube.Eventually(t, "a creation", created(1))

	s.creates = func() {
		close(begun)
		<-end
	}
	go create()
	<-begun
	if done, err := c.delete(t.Context(), "ns"); done || err != nil || s.deleted.Load() != 1 {
		t.Errorf("want it kept for now, got %t, %v, %d", done, err, s.deleted.Load())
	}
	close(end)
	kube.Eventually(t, "the creation", created(2))
}

// TestUnknownNamespace shows that a namespace stays of which it cannot be told whether it is empty, that this is told,
// and that it goes when it can.
func TestUnknownNamespace(t *testing.T) {
	s := &leftNamespace{looks: func() {}, creates: func() {}, refuses: true}
	p, _ := newThings(t, s)
	open(t, p) // The server answers.
	config := p.worker.config
	config.Sync.Spec.CreatedNamespaces = &v1alpha1.CreatedNamespaces{WhenEmpty: xpv2.DeletionDelete}
	p.worker.namespaces = newNamespaceCleaner(config, p.worker.streams)
	p.worker.namespaces.look(t.Context(), "ns")
	if err := p.worker.namespaces.failure(); s.deleted.Load() != 0 || !apierrors.IsForbidden(err) {
		t.Errorf("want it kept, and why, got %d deletions, %v", s.deleted.Load(), err)
	}
	s.refuses = false
	p.worker.namespaces.look(t.Context(), "ns")
	if err := p.worker.namespaces.failure(); s.deleted.Load() != 1 || err != nil {
		t.Errorf("want it deleted, got %d deletions, %v", s.deleted.Load(), err)
	}
}
