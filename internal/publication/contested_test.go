package publication

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestContestedStatus shows that an object rests whose workspace changes each status that is written, and says so, once
// to its consumer.
func TestContestedStatus(t *testing.T) {
	var statuses, told atomic.Int64
	thing := func(status any) map[string]any {
		u := maps.Clone(webIn("a", strconv.FormatInt(statuses.Load()+1, 10)).(map[string]any))
		metadata := maps.Clone(u["metadata"].(map[string]any))
		metadata["finalizers"] = []any{objectsync.Finalizer}
		u["metadata"], u["status"] = metadata, status
		return u
	}
	copied := maps.Clone(copyOfWebIn("a").(map[string]any))
	copied["status"] = map[string]any{"phase": "Ready"}
	at := "/clusters/a/apis/ws.example.com/v1/namespaces/default/things/web"
	s := &server{
		objects: []any{thing(nil)}, copies: []any{copied}, events: make(chan any, 1000),
		answers: map[string]http.HandlerFunc{
			"/clusters/a/api/v1/namespaces/default/events": func(w http.ResponseWriter, r *http.Request) {
				e := corev1.Event{}
				if err := json.NewDecoder(r.Body).Decode(&e); err != nil || e.Reason == objectsync.ReasonContested {
					told.Add(1)
				}
				answer(http.StatusCreated, map[string]any{"apiVersion": "v1", "kind": "Event"})(w, r)
			},
		},
	}
	s.answers["/api/v1/namespaces/states/secrets"] = func(w http.ResponseWriter, r *http.Request) {
		state := list(nil)
		if r.Method == http.MethodPost {
			_ = json.NewDecoder(r.Body).Decode(&state) // Else the object fails.
			metadata, _ := state["metadata"].(map[string]any)
			metadata["resourceVersion"] = "1"
		}
		answer(http.StatusOK, state)(w, r)
	}
	s.answers[at+"/status"] = func(w http.ResponseWriter, r *http.Request) {
		changed := thing(map[string]any{"phase": "Denied", "times": statuses.Add(1)})
		s.events <- changed
		answer(http.StatusOK, changed)(w, r)
	}
	p, _ := newThings(t, s, "a")
	p.worker.syncer = statusSyncer(t)
	run(t, p)
	const want = 101 // The first undoes nothing.
	kube.Eventually(t, "the fight to rest", func() (bool, string) {
		c := p.status()
		text := fmt.Sprint(statuses.Load(), c)
		return c.Failed == 1 && statuses.Load() == want && strings.Contains(c.Failures[0].Message, "another client"), text
	})
	kube.Holds(t, "it rests, and the consumer is told once", func() (bool, string) {
		return statuses.Load() == want && told.Load() == 1, fmt.Sprint(statuses.Load(), told.Load())
	}, func() { retry(t, p, web("a")) })
}

// statusSyncer returns the syncer of things whose status is a subresource.
func statusSyncer(t *testing.T) *objectsync.Syncer {
	t.Helper()
	c := thingsWithSecrets()
	c.Spec.Related, c.Primary.Workspace.Status, c.Primary.Service.Status = nil, true, true
	s, err := objectsync.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
