package publication

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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
	c := &namespaceCleaner{
		service: p.worker.config.Service, agent: "agent", locks: &p.worker.config.shared.locks,
		streams: p.worker.streams,
	}
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
		if err := below.Create(t.Context(), r, u); err != nil {
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

// TestCopyLeavesNamespace shows which namespaces are looked at: those in which a copy has gone, and not one in which a
// copy has changed.
func TestCopyLeavesNamespace(t *testing.T) {
	s := &server{copies: []any{copyOfWebIn("one"), copyOfWebIn("two")}}
	p, _ := newThings(t, s)
	config := p.worker.config
	config.Sync.Spec.CreatedNamespaces = &v1alpha1.CreatedNamespaces{WhenEmpty: xpv2.DeletionDelete}
	c := newNamespaceCleaner(config, p.worker.streams)
	p.worker.namespaces = c
	open(t, p)
	changed, gone := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	changed.Object, gone.Object = copyOfWebIn("one").(map[string]any), copyOfWebIn("two").(map[string]any)
	changed.SetResourceVersion("2")
	p.worker.streams.copies.Put(changed)
	p.worker.streams.copies.Drop(gone)
	if is, _ := c.queue.Get(); is != "two" || c.queue.Len() != 0 {
		t.Errorf("want the namespace looked at of the copy that has gone, got %q, and %d more", is, c.queue.Len())
	}
}
