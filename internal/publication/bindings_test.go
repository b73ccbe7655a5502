package publication

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/gotemplate"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
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

// TestBindingLooks follows objects of one workspace that are deleted one after the other.
func TestBindingLooks(t *testing.T) {
	type step struct {
		version string // resource version of the object that is deleted
		uid     string // of the object, if it is the same in several steps
		after   time.Duration
		as      string // of the answer of the workspace by then, empty if there is none
		leaving bool   // The binding is being deleted.
		deleted string // what shows that the workspace is being deleted
		want    string // known, leaves, fails, or for how long it rests
		asked   int    // questions by then
	}
	rest := bindingsEvery.String()
	for name, tc := range map[string]struct {
		reason string
		steps  []step
	}{
		"OneForAll": {
			reason: "One look serves for all that were deleted before it.",
			steps: []step{
				{version: "1", as: "9", want: "known", asked: 1},
				{version: "1", as: "20", want: "known", asked: 1},
				{version: "9", as: "20", want: "known", asked: 1},
			},
		},
		"Later": {
			reason: "Who was deleted later waits for the next look, which comes after a while.",
			steps: []step{
				{version: "1", as: "9", want: "known", asked: 1},
				{version: "10", as: "20", want: rest, asked: 1},
				{version: "10", as: "20", after: bindingsEvery, want: "known", asked: 2},
			},
		},
		"Same": {
			reason: "That a deletion is the consumer's remains so, whatever is written to the object.",
			steps: []step{
				{version: "1", uid: "a", as: "9", want: "known", asked: 1},
				{version: "30", uid: "a", after: bindingsEvery, want: "known", asked: 1},
				{version: "30", uid: "b", as: "40", leaving: true, want: "leaves", asked: 2},
				{version: "41", uid: "b", as: "50", want: rest, asked: 2},
			},
		},
		"Leaves": {
			reason: "That a workspace leaves is known of all that were deleted before.",
			steps: []step{
				{version: "1", as: "9", leaving: true, want: "leaves", asked: 1},
				{version: "2", want: "leaves", asked: 1},
			},
		},
		"Deleted": {
			reason: "So does a workspace that is being deleted, by its LogicalCluster.",
			steps: []step{
				{version: "1", as: "9", deleted: "logicalclusters", want: "leaves", asked: 1},
				{version: "2", want: "leaves", asked: 1},
			},
		},
		"NamespaceDeleted": {
			reason: "Its namespace tells as well.",
			steps: []step{
				{version: "1", as: "9", deleted: "namespaces", want: "leaves", asked: 1},
				{version: "2", want: "leaves", asked: 1},
			},
		},
		"Failed": {
			reason: "A look that fails tells nothing, and the next one comes after a while.",
			steps: []step{
				{version: "1", want: "fails", asked: 1},
				{version: "2", as: "9", want: rest, asked: 1},
				{version: "2", as: "9", after: bindingsEvery, want: "known", asked: 2},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, asked := newTestPublication(t), 0
				p.worker.objects.update(in("c", "web"), func(*object) {})
				for i, s := range tc.steps {
					time.Sleep(s.after)
					client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
						map[schema.GroupVersionResource]string{kcp.Bindings: "APIBindingList"})
					client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
						if asked++; s.as == "" {
							return true, nil, errBoom
						}
						return true, bindingsAsOf(s.as, s.leaving, s.deleted), nil
					})
					client.PrependReactor("get", s.deleted, func(clienttesting.Action) (bool, runtime.Object, error) {
						u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
						u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
						return true, u, nil
					})
					u := &unstructured.Unstructured{Object: map[string]any{}}
					u.SetResourceVersion(s.version)
					u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
					u.SetUID(types.UID(s.uid))
					at := p.worker.newPass(t.Context(), in("c", "web"))
					at.workspace = client
					leaves, err := at.leaves(u)
					got, later := "known", laterError{}
					switch {
					case errors.As(err, &later):
						got = later.after.String()
					case err != nil:
						got = "fails"
					case leaves:
						got = "leaves"
					}
					if got != s.want || asked != s.asked {
						t.Errorf("%s Step %d: want %s after %d questions, got %s after %d", tc.reason, i, s.want, s.asked,
							got, asked)
					}
				}
			})
		})
	}
}

var errBoom = errors.New("boom")

// bindingsAsOf returns the binding of a workspace to the API of things, as of a resource version. The workspace shows
// all LogicalClusters or namespaces, if asked to.
func bindingsAsOf(version string, leaving bool, shown string) runtime.Object {
	r := map[string]any{"group": "", "resource": shown, "selector": map[string]any{"matchAll": true}, "state": "Accepted"}
	if shown == kcp.LogicalClusters.Resource {
		r["group"] = kcp.LogicalClusters.Group
	}
	b := unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding", "metadata": map[string]any{"name": "api"},
		"spec": map[string]any{"permissionClaims": []any{r}},
		"status": map[string]any{
			"boundResources":          []any{map[string]any{"group": "ws.example.com", "resource": "things"}},
			"appliedPermissionClaims": []any{r},
		},
	}}
	if leaving {
		b.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBindingList",
	}, Items: []unstructured.Unstructured{b}}
	list.SetResourceVersion(version)
	return list
}

// TestDepartureIsConfirmed shows that the copy of a workspace which the watch of bindings shows no more is deleted only
// if kcp was deleting its binding, as it does not of a workspace that moves to another shard, and if the server
// confirms that the workspace has none: no answer, and an answer without any binding, confirm nothing.
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
		moves    bool // No binding was being deleted.
		bindings http.HandlerFunc
		goes     bool
		asks     int64
	}{
		"Others": {
			reason:   "The server shows bindings, and none of the workspace.",
			bindings: showing("stays"),
			goes:     true,
		},
		"Moved": {
			reason:   "The server shows none of the workspace, which is on another shard.",
			moves:    true,
			bindings: showing("stays"),
		},
		"Bound": {reason: "The server still shows the binding.", bindings: showing("stays", "leaves"), asks: 1},
		"None": {
			reason:   "A server that shows no binding at all may have just started.",
			bindings: showing(),
			asks:     2,
		},
		"Refused": {
			reason:   "What may not be read is unknown.",
			bindings: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusForbidden) },
			asks:     2,
		},
		"Failing": {
			reason:   "So is what cannot be read.",
			bindings: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusInternalServerError) },
			asks:     2,
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
			p.worker.config.Sync.Spec.UnboundWorkspaces = xpv2.DeletionDelete
			p.open()
			p.worker.await(p.ctx)
			p.running.Go(p.run)
			defer p.stop()
			consumers.Workspaces = boundTo(url, []string{"stays"})
			if !tc.moves {
				consumers.Workspaces["leaves"] = Workspace{Endpoint: url, Unbinds: true}
				p.adapt(consumers)
				consumers.Workspaces = boundTo(url, []string{"stays"})
			}
			p.adapt(consumers)
			if tc.goes {
				kube.Eventually(t, "deletion of the copy",
					func() (bool, string) { return s.deleted.Load() > 0, tc.reason })
				return
			}
			kube.Eventually(t, "several questions", func() (bool, string) {
				p.worker.objects.queue.Add(item)
				return asked.Load() >= tc.asks, strconv.FormatInt(asked.Load(), 10)
			})
			kube.Holds(t, "the copy stays", func() (bool, string) {
				return s.deleted.Load() == 0, tc.reason
			}, func() {
				p.worker.objects.queue.Add(item)
				kube.Eventually(t, "an empty queue", func() (bool, string) { return p.worker.objects.queue.Len() == 0, "" })
			})
		})
	}
}

// TestMissingIsConfirmed shows that the copy of an object that is there no more goes only if the server has no such
// object and shows the binding of the workspace after that: of a workspace that has moved to another shard it has
// neither.
func TestMissingIsConfirmed(t *testing.T) {
	absent := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		is := apierrors.NewNotFound(schema.GroupResource{Group: "ws.example.com", Resource: "things"}, "web").Status()
		is.APIVersion, is.Kind = "v1", "Status"
		_ = json.NewEncoder(w).Encode(is) //nolint:errchkjson // Who does not get it fails.
	}
	showing := func(o runtime.Object) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(o) }
	}
	none := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBindingList",
	}}
	for name, tc := range map[string]struct {
		reason           string
		object, bindings http.HandlerFunc
		goes             bool
	}{
		"Bound": {
			reason: "The workspace is there, and the object is not.",
			object: absent, bindings: showing(bindingsAsOf("9", false, "")), goes: true,
		},
		"Moved": {reason: "The workspace has no binding there.", object: absent, bindings: showing(none)},
		"Unbinds": {
			reason: "It gives up its binding, with which objects go.",
			object: absent, bindings: showing(bindingsAsOf("9", true, "")),
		},
		"Closed":  {reason: "The virtual workspace does not know it.", object: http.NotFound, bindings: showing(none)},
		"Refused": {reason: "What may not be read is unknown.", object: absent, bindings: http.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			item := in("moves", "web")
			item.Namespace = "default"
			s := &server{copies: []any{copyOfWebIn("moves")}}
			url, connect := startServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/clusters/moves/apis/ws.example.com/v1/namespaces/default/things/web":
					asked.Add(1)
					tc.object(w, r)
				case "/clusters/moves/apis/apis.kcp.io/v1alpha2/apibindings":
					tc.bindings(w, r)
				default:
					s.ServeHTTP(w, r)
				}
			}))
			p, _ := newThings(t, url, connect, "moves")
			p.open()
			p.worker.await(p.ctx)
			p.running.Go(p.run)
			defer p.stop()
			if tc.goes {
				kube.Eventually(t, "deletion of the copy",
					func() (bool, string) { return s.deleted.Load() > 0, tc.reason })
				return
			}
			kube.Eventually(t, "several questions", func() (bool, string) {
				p.worker.objects.queue.Add(item)
				return asked.Load() >= 3, strconv.FormatInt(asked.Load(), 10)
			})
			if s.deleted.Load() > 0 {
				t.Error(tc.reason)
			}
		})
	}
}

// TestLooksOfAnotherShard shows that what the bindings of a workspace told as of a resource version is forgotten when
// another endpoint shows the workspace, whose resource versions are others, and that its objects are synced there.
func TestLooksOfAnotherShard(t *testing.T) {
	x := &workspaceIndex{known: map[string]*workspace{}}
	x.follow(Consumers{Workspaces: boundTo("one", []string{"moves", "stays"})})
	moves, stays := x.get("moves").bindings, x.get("stays").bindings
	_, changed, allowed := x.follow(Consumers{Workspaces: map[string]Workspace{
		"moves": {Endpoint: "two", Bound: true}, "stays": {Endpoint: "one", Bound: true},
	}})
	if x.get("moves").bindings == moves || x.get("stays").bindings != stays {
		t.Error("want the looks of the workspace forgotten that has moved, and those of the other kept")
	}
	if diff := cmp.Diff(set[string]{"moves": {}}, allowed); diff != "" || !changed {
		t.Errorf("changed %v; allowed: -want, +got:\n%s", changed, diff)
	}
}
