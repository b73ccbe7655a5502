package objectsync_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// resource returns an API of testdata.
func resource(group, plural, kind string, scope v1alpha1.ResourceScope) objectsync.Resource {
	return objectsync.Resource{GroupVersionResource: schema.GroupVersionResource{
		Group: group, Version: "v1", Resource: plural,
	}, Kind: kind, Scope: scope, Status: kind != "Plain"}
}

var (
	wides = objectsync.Pair{
		Workspace: resource("ws.example.com", "wides", "Wide", v1alpha1.ScopeCluster),
		Service:   resource("example.org", "wides", "Wide", v1alpha1.ScopeCluster),
	}
	plains = objectsync.Pair{
		Workspace: resource("ws.example.com", "plains", "Plain", v1alpha1.ScopeNamespaced),
		Service:   resource("example.org", "plains", "Plain", v1alpha1.ScopeNamespaced),
	}
)

// syncerOf returns the syncer of other kinds than things. Related ones are things.
func (w *world) syncerOf(primary objectsync.Pair, spec *v1alpha1.PublishedResourceSpec) *objectsync.Syncer {
	w.Helper()
	related := map[string]objectsync.Pair{}
	for i := range spec.Related {
		related[spec.Related[i].Name()] = things
	}
	return w.newSyncer(objectsync.Config{
		Spec: spec, Primary: primary, Related: related,
	})
}

// objectOf returns an object of a resource.
func objectOf(r objectsync.Resource, n types.NamespacedName, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(r.GroupVersion().WithKind(r.Kind))
	u.SetNamespace(n.Namespace)
	u.SetName(n.Name)
	return u
}

func (w *world) read(s objectsync.Side, r objectsync.Resource, n types.NamespacedName) *unstructured.Unstructured {
	w.Helper()
	u, err := s.Cache(r.GroupVersionResource).Get(n)
	if err != nil {
		w.Fatal(err)
	}
	return u
}

// TestScopes shows objects and copies with and without a namespace, by the default names, in both directions.
func TestScopes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		pair   objectsync.Pair
	}{
		"Cluster": {reason: "Both sides may be without.", pair: wides},
		"Narrowed": {
			reason: "A copy can have a namespace that its object has not.",
			pair:   objectsync.Pair{Workspace: wides.Workspace, Service: things.Service},
		},
		"Widened": {
			reason: "Or none where it has one.",
			pair:   objectsync.Pair{Workspace: things.Workspace, Service: wides.Service},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			above, in := workspaceOf(w.input), w.input
			from, to := tc.pair.Workspace.GroupVersionResource, tc.pair.Service.GroupVersionResource
			if tc.pair.Workspace.Scope == v1alpha1.ScopeCluster {
				in.Object.Namespace = ""
			}
			s := w.syncerOf(tc.pair, &v1alpha1.PublishedResourceSpec{})
			above.put(from, objectOf(tc.pair.Workspace, in.Object, map[string]any{"spec": map[string]any{"size": int64(3)}}))
			w.settle(s, in)
			for n := range below.all[to] {
				if has := n.Namespace != ""; has != (tc.pair.Service.Scope == v1alpha1.ScopeNamespaced) {
					t.Errorf("namespace of the copy: got %q", n.Namespace)
				}
				below.set(to, n.Namespace, n.Name, "Ready", "status", "phase")
				w.settle(s, in)
				want := []any{below.get(to, n).Object["spec"], map[string]any{"phase": "Ready"}}
				got := above.get(from, in.Object).Object
				if diff := cmp.Diff(want, []any{got["spec"], got["status"]}); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
			}
			if got := len(below.all[to]); got != 1 {
				t.Errorf("%s want one copy, got %d", tc.reason, got)
			}
			above.end(from, in.Object)
			w.settle(s, in)
			if above.get(from, in.Object) != nil || len(below.all[to])+len(below.secretNames("states")) != 0 {
				t.Error("something is left")
			}
		})
	}
}

// observe does what an operator does that has seen the copy as it is, and has brought it to a state.
func (w *world) observe(status string) {
	w.Helper()
	c := w.theCopy(w.cluster)
	w.patchStatus(w.below, c, fmt.Sprintf(`{"status":{"observedGeneration":%d,"conditions":[
		{"type":"Ready","status":%q,"observedGeneration":%[1]d}]}}`, c.GetGeneration(), status))
}

// ready returns the status of condition Ready of the consumer's object, if it is of the object as it is.
func (w *world) ready() string {
	w.Helper()
	u := w.source(w.input)
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if len(conditions) != 1 {
		w.Fatalf("want one condition, got %v", u.Object["status"])
	}
	c := conditions[0].(map[string]any)
	if c["observedGeneration"] != observed {
		w.Errorf("want one generation observed, got %v", u.Object["status"])
	}
	if observed != u.GetGeneration() {
		return "earlier"
	}
	return c["status"].(string)
}

// TestStatusOfGeneration shows that a condition in the workspace is of the generation there that it reflects, so that
// who waits for it neither hangs nor takes an old one for the new: after changes that reach the copy, changes that
// mutation takes back, and changes of the copy by others.
func TestStatusOfGeneration(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{Mutation: &v1alpha1.ResourceMutations{
		Spec: []v1alpha1.ResourceMutation{{Delete: &v1alpha1.DeleteMutation{Path: "spec.ignored"}}},
	}})
	src := thing(w.input.Object)
	w.create(w.above, src)
	w.mustSync(s, w.input)
	is := func(when, want string) {
		t.Helper()
		w.mustSync(s, w.input)
		if got := w.ready(); got != want {
			t.Errorf("%s: want Ready to be %s, got %s: generation %d above, %d below, status %v", when, want, got,
				w.source(w.input).GetGeneration(), w.theCopy(w.cluster).GetGeneration(), w.source(w.input).Object["status"])
		}
	}
	w.observe("True")
	is("new", "True")
	for i := range 5 {
		w.patch(w.above, src, fmt.Sprintf(`{"spec":{"ignored":%d}}`, i))
		is("after a change that goes nowhere", "True")
	}
	w.patch(w.above, src, `{"spec":{"size":2}}`)
	is("after a change that the operator has not seen", "earlier")
	w.observe("False")
	is("while the operator works", "False")
	for i := range 9 {
		w.patch(w.below, w.theCopy(w.cluster), fmt.Sprintf(`{"spec":{"refs":%d}}`, i))
		w.observe("True")
		is("after changes of the operator's own", "True")
	}
	w.patch(w.above, src, `{"spec":{"size":3}}`)
	is("after another change", "earlier")
	w.patch(w.below, w.theCopy(w.cluster), `{"spec":{"refs":10}}`)
	is("after one more of the operator's own", "earlier")
	w.observe("True")
	is("in the end", "True")
}

// TestStatusOfParts shows that conditions of parts of an object, as routes have them of each parent, are of the
// generation in the workspace, too, and that a generation beside them, which may be of something else, stays, and those
// of another object that the status shows.
func TestStatusOfParts(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	src := thing(w.input.Object)
	w.create(w.above, src)
	w.mustSync(s, w.input)
	w.patch(w.below, w.theCopy(w.cluster), `{"spec":{"refs":1}}`)
	parents := func(generation int64) string {
		return fmt.Sprintf(`{"status":{"parents":[{"name":"a","observedGeneration":7,"conditions":[`+
			`{"type":"Accepted","status":"True","observedGeneration":%[1]d},`+
			`{"type":"Resolved","status":"True","observedGeneration":%[1]d}]}],"made":{"apiVersion":"v1","kind":"Pod",`+
			`"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":2}]}}}}`, generation)
	}
	is := func(when string, generation int64) {
		t.Helper()
		w.mustSync(s, w.input)
		u, want := w.source(w.input), map[string]any{}
		if err := utiljson.Unmarshal([]byte(parents(generation)), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want["status"], u.Object["status"]); diff != "" {
			t.Errorf("%s, generation %d above, %d below: -want, +got:\n%s", when, u.GetGeneration(),
				w.theCopy(w.cluster).GetGeneration(), diff)
		}
	}
	w.patchStatus(w.below, w.theCopy(w.cluster), parents(2))
	is("after a change of the operator's own", 1)
	w.patch(w.above, src, `{"spec":{"size":2}}`)
	is("after a change that the operator has not seen", 1)
	w.patchStatus(w.below, w.theCopy(w.cluster), parents(3))
	is("in the end", 2)
}

// TestStatusOfDeletion shows that consumers see what becomes of an object that they delete, while it lasts, and that a
// deletion that does not last costs no more than before.
func TestStatusOfDeletion(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	src := thing(w.input.Object)
	w.create(w.above, src)
	w.mustSync(s, w.input)
	w.patch(w.below, w.theCopy(w.cluster), `{"metadata":{"finalizers":["example.org/operator"]}}`)
	w.observe("True")
	w.mustSync(s, w.input)
	if err := w.above.Delete(t.Context(), src, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	above, below := w.writes(func() { w.mustSync(s, w.input) })
	if diff := cmp.Diff(map[string]int{"delete things.example.org": 1}, below); diff != "" || len(above) != 0 {
		t.Errorf("requests of the deletion: want none above, got %v; below: -want, +got:\n%s", above, diff)
	}
	if got := w.ready(); got != "earlier" {
		t.Errorf("want Ready to be of before the deletion, got %s", got)
	}
	w.observe("False")
	all := w.mustSync(s, w.input)
	if got := w.ready(); got != "False" || reasons(all) != objectsync.ReasonStatusSynced {
		t.Errorf("want Ready to be False while the operator deletes, got %s and events %q", got, reasons(all))
	}
	w.patch(w.below, w.theCopy(w.cluster), `{"metadata":{"finalizers":null}}`)
	w.mustSync(s, w.input)
	if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 {
		t.Error("want object and copy to be gone")
	}
}

// TestDeletionPropagation shows that a consumer's object which asks for it stays until the dependents of its copy are
// gone, and that no consumer can have dependents stay.
func TestDeletionPropagation(t *testing.T) {
	for policy, want := range map[string][]string{
		"foreground": {metav1.FinalizerDeleteDependents}, "background": nil, "orphan": nil,
	} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t)
			s := w.syncer(&v1alpha1.PublishedResourceSpec{})
			src := thing(w.input.Object)
			src.SetAnnotations(map[string]string{objectsync.AnnotationDeletionPropagation: policy})
			w.create(w.above, src)
			w.mustSync(s, w.input)
			if got := w.theCopy(w.cluster).GetAnnotations()[objectsync.AnnotationDeletionPropagation]; got != "" {
				t.Errorf("want the annotation in the workspace only, got %q", got)
			}
			w.patch(w.below, w.theCopy(w.cluster), `{"metadata":{"finalizers":["example.org/operator"]}}`)
			w.mustSync(s, w.input)
			if err := w.above.Delete(t.Context(), src, client.PropagationPolicy("Background")); err != nil {
				t.Fatal(err)
			}
			w.mustSync(s, w.input)
			got := w.theCopy(w.cluster).GetFinalizers()
			if diff := cmp.Diff(append([]string{"example.org/operator"}, want...), got); diff != "" {
				t.Errorf("finalizers of the copy in deletion: -want, +got:\n%s", diff)
			}
			w.patch(w.below, w.theCopy(w.cluster), `{"metadata":{"finalizers":null}}`)
			w.mustSync(s, w.input)
			if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 {
				t.Error("want object and copy to be gone")
			}
		})
	}
}
