package publication

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

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

// TestDepartureIsConfirmed shows that the copy of a workspace which the watch of bindings shows no more is deleted only
// if the server confirms that the workspace has no binding: no answer, and an answer without any binding, confirm
// nothing.
func TestDepartureIsConfirmed(t *testing.T) {
	showing := func(clusters ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			all := []any{}
			for _, cluster := range clusters {
				all = append(all, map[string]any{
					"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding",
					"metadata": map[string]any{
						"name": "api", "annotations": map[string]any{"kcp.io/cluster": cluster},
					},
				})
			}
			_ = json.NewEncoder(w).Encode(list(all)) // Who does not get it fails.
		}
	}
	for name, tc := range map[string]struct {
		reason   string
		bindings http.HandlerFunc
		goes     bool
	}{
		"Others": {
			reason:   "The server shows bindings, and none of the workspace.",
			bindings: showing("stays"),
			goes:     true,
		},
		"Bound": {reason: "The server still shows the binding.", bindings: showing("stays", "leaves"), goes: false},
		"None": {
			reason:   "A server that shows no binding at all may have just started.",
			bindings: showing(),
			goes:     false,
		},
		"Refused": {
			reason:   "What may not be read is unknown.",
			bindings: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) },
			goes:     false,
		},
		"Failing": {
			reason:   "So is what cannot be read.",
			bindings: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusInternalServerError) },
			goes:     false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			item := in("leaves", "web")
			item.Namespace = "default"
			s := &server{copies: []any{copyOfWebIn("leaves")}, bindings: func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				tc.bindings(w, r)
			}}
			url, connect := s.start(t)
			p, consumers := newThings(t, url, connect, "leaves", "stays")
			p.config.Sync.Spec.UnboundWorkspaces = xpv2.DeletionDelete
			p.open()
			p.await()
			go p.run()
			defer p.stop(true)
			consumers.Workspaces = boundTo(url, []string{"stays"})
			p.adapt(consumers)
			if tc.goes {
				kube.Eventually(t, "deletion of the copy",
					func() (bool, string) { return s.deleted.Load() > 0, tc.reason })
				return
			}
			kube.Eventually(t, "several questions", func() (bool, string) {
				p.queue.Add(item)
				return asked.Load() >= 2 || name == "Bound" && asked.Load() >= 1, strconv.FormatInt(asked.Load(), 10)
			})
			kube.Holds(t, "the copy stays", func() (bool, string) {
				return s.deleted.Load() == 0, tc.reason
			}, func() {
				p.queue.Add(item)
				kube.Eventually(t, "an empty queue", func() (bool, string) { return p.queue.Len() == 0, "" })
			})
		})
	}
}
