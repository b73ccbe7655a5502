package publication

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// A bindingStep is the deletion of an object, and what its workspace answers by then.
type bindingStep struct {
	version string // resource version of the object that is deleted
	uid     string // of the object, if it is the same in several steps
	after   time.Duration
	as      string // of the answer of the workspace by then, empty if there is none
	leaving bool   // The binding is being deleted.
	deleted string // what shows that the workspace is being deleted
	want    string // known, leaves, fails, or for how long it rests
	asked   int    // questions by then
}

// workspace returns a client of the workspace, which counts the questions.
func (s bindingStep) workspace(asked *int) dynamic.Interface {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{kcp.Bindings: "APIBindingList"})
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		if *asked++; s.as == "" {
			return true, nil, errBoom
		}
		return true, bindingsAsOf(s.as, s.leaving, s.deleted), nil
	})
	client.PrependReactor("get", s.deleted, func(clienttesting.Action) (bool, runtime.Object, error) {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}}}
		u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		return true, u, nil
	})
	return client
}

// TestBindingLooks follows objects of one workspace that are deleted one after the other.
func TestBindingLooks(t *testing.T) {
	rest := bindingsEvery.String()
	for name, tc := range map[string]struct {
		reason string
		steps  []bindingStep
	}{
		"OneForAll": {
			reason: "One look serves for all that were deleted before it.",
			steps: []bindingStep{
				{version: "1", as: "9", want: "known", asked: 1},
				{version: "1", as: "20", want: "known", asked: 1},
				{version: "9", as: "20", want: "known", asked: 1},
			},
		},
		"Later": {
			reason: "Who was deleted later waits for the next look, which comes after a while.",
			steps: []bindingStep{
				{version: "1", as: "9", want: "known", asked: 1},
				{version: "10", as: "20", want: rest, asked: 1},
				{version: "10", as: "20", after: bindingsEvery, want: "known", asked: 2},
			},
		},
		"Same": {
			reason: "That a deletion is the consumer's remains so, whatever is written to the object.",
			steps: []bindingStep{
				{version: "1", uid: "a", as: "9", want: "known", asked: 1},
				{version: "30", uid: "a", after: bindingsEvery, want: "known", asked: 1},
				{version: "30", uid: "b", as: "40", leaving: true, want: "leaves", asked: 2},
				{version: "41", uid: "b", as: "50", want: rest, asked: 2},
			},
		},
		"Leaves": {
			reason: "That a workspace leaves is known of all that were deleted before.",
			steps: []bindingStep{
				{version: "1", as: "9", leaving: true, want: "leaves", asked: 1},
				{version: "2", want: "leaves", asked: 1},
			},
		},
		"Deleted": {
			reason: "So does a workspace that is being deleted, by its LogicalCluster.",
			steps: []bindingStep{
				{version: "1", as: "9", deleted: "logicalclusters", want: "leaves", asked: 1},
			},
		},
		"NamespaceDeleted": {
			reason: "Its namespace tells as well.",
			steps: []bindingStep{
				{version: "1", as: "9", deleted: "namespaces", want: "leaves", asked: 1},
			},
		},
		"Failed": {
			reason: "A look that fails tells nothing, and the next one comes after a while.",
			steps: []bindingStep{
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
					u := &unstructured.Unstructured{Object: map[string]any{}}
					u.SetResourceVersion(s.version)
					u.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
					u.SetUID(types.UID(s.uid))
					at := p.worker.newPass(t.Context(), in("c", "web"))
					at.workspace = s.workspace(&asked)
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
		all := []any{}
		for _, cluster := range clusters {
			all = append(all, map[string]any{
				"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding",
				"metadata": map[string]any{"name": "api", "annotations": map[string]any{"kcp.io/cluster": cluster}},
			})
		}
		return answer(http.StatusOK, list(all))
	}
	for name, tc := range map[string]struct {
		reason   string
		moves    bool // No binding was being deleted.
		bindings http.HandlerFunc
		refuses  bool // the service cluster, at first
		goes     bool
		asks     int64
	}{
		"Others": {
			reason:   "The server shows bindings, and none of the workspace.",
			bindings: showing("stays"),
			goes:     true,
		},
		"Kept": {
			reason:   "A copy that cannot be deleted at once is later, although nothing in kcp tells of it any more.",
			bindings: showing("stays"),
			refuses:  true,
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
		"Refused": {reason: "What may not be read is unknown.", bindings: forbid, asks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			var asked atomic.Int64
			s := &server{copies: []any{copyOfWebIn("leaves")}, answers: map[string]http.HandlerFunc{
				bindingsOfAll: func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					tc.bindings(w, r)
				},
			}}
			s.refuses.Store(tc.refuses)
			p, consumers := newThings(t, s, "leaves", "stays")
			p.worker.config.Sync.Spec.UnboundWorkspaces = xpv2.DeletionDelete
			run(t, p)
			url := consumers.Endpoints[0].URL
			consumers.Workspaces = boundTo(url, []string{"stays"})
			if !tc.moves {
				consumers.Workspaces["leaves"] = Workspace{Endpoint: url, Unbinds: true}
				p.adapt(consumers)
				consumers.Workspaces = boundTo(url, []string{"stays"})
			}
			p.adapt(consumers)
			if tc.refuses {
				kube.Eventually(t, "a failure", func() (bool, string) { return p.status().Failed == 1, "there is none" })
				s.refuses.Store(false)
			}
			s.wantDeleted(t, p, "leaves", tc.goes, func() bool { return asked.Load() >= tc.asks })
		})
	}
}

// wantDeleted fails unless the copy of a workspace is deleted, or stays although the servers have been asked.
func (s *server) wantDeleted(t *testing.T, p *publication, cluster string, want bool, asked func() bool) {
	t.Helper()
	if want {
		kube.Eventually(t, "deletion of the copy", func() (bool, string) { return s.deleted.Load() > 0, "it stays" })
		return
	}
	kube.Eventually(t, "several questions", func() (bool, string) {
		p.worker.objects.queue.Add(web(cluster))
		return asked(), "there are fewer"
	})
	kube.Holds(t, "the copy stays", func() (bool, string) { return s.deleted.Load() == 0, "it is deleted" },
		func() { retry(t, p, web(cluster)) })
}

// TestMissingIsConfirmed shows that the copy of an object that is there no more goes only if it was there, and the
// server has no such object and shows the binding of the workspace after that: of a workspace that has moved to another
// shard it has neither.
func TestMissingIsConfirmed(t *testing.T) {
	absent := refuse(apierrors.NewNotFound(schema.GroupResource{Group: "ws.example.com", Resource: "things"}, "web"))
	bound := answer(http.StatusOK, bindingsAsOf("9", false, ""))
	none := answer(http.StatusOK, map[string]any{"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBindingList"})
	for name, tc := range map[string]struct {
		reason           string
		object, bindings http.HandlerFunc
		isNew, goes      bool
	}{
		"Bound": {reason: "The workspace is there, and the object is not.", object: absent, bindings: bound, goes: true},
		"New": {
			reason: "A restore may have undone the object before the provider started.",
			object: absent, bindings: bound, isNew: true,
		},
		"Moved": {reason: "The workspace has no binding there.", object: absent, bindings: none},
		"Unbinds": {
			reason: "It gives up its binding, with which objects go.",
			object: absent, bindings: answer(http.StatusOK, bindingsAsOf("9", true, "")),
		},
		"Closed":  {reason: "The virtual workspace does not know it.", object: http.NotFound, bindings: bound},
		"Refused": {reason: "What may not be read is unknown.", object: absent, bindings: http.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			var asked atomic.Int64
			s := &server{copies: []any{copyOfWebIn("moves")}, answers: map[string]http.HandlerFunc{
				"/clusters/moves/apis/ws.example.com/v1/namespaces/default/things/web": func(
					w http.ResponseWriter, r *http.Request,
				) {
					asked.Add(1)
					tc.object(w, r)
				},
				"/clusters/moves/apis/apis.kcp.io/v1alpha2/apibindings": tc.bindings,
			}}
			p, _ := newThings(t, s, "moves")
			if !tc.isNew {
				p.worker.objects.noteSeen(web("moves"))
			}
			run(t, p)
			s.wantDeleted(t, p, "moves", tc.goes, func() bool { return asked.Load() >= 3 })
		})
	}
}
