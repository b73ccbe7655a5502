package objectsync_test

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestNewObject shows the whole way of an object, and what it costs: two writes in the workspace, two on the service
// cluster, no reads.
func TestNewObject(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{CreatedNamespaces: &v1alpha1.CreatedNamespaces{
		Labels:      map[string]string{"tenant": "{{ .ClusterName }}"},
		Annotations: map[string]string{"of": "{{ .ClusterPath }}"},
	}})
	w.create(w.above, thing(w.input.Object, func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{"app": "web", "syncagent.kcp.io/agent-name": "stolen"})
		u.SetAnnotations(map[string]string{"note": "<1>", "crossplane.io/paused": "true", "kcp.io/cluster": "x"})
	}))
	var all []objectsync.Result
	above, below := w.writes(func() { all = w.mustSync(s, w.input) })
	if diff := gocmp.Diff(map[string]int{"patch things.ws.example.com": 1}, above); diff != "" {
		t.Errorf("requests above: -want, +got:\n%s", diff)
	}
	// That there is no namespace is found once for each workspace.
	if diff := gocmp.Diff(map[string]int{
		"create things.example.org": 1, "create secrets": 1, "patch namespaces": 1, "create namespaces": 1,
	}, below); diff != "" {
		t.Errorf("requests below: -want, +got:\n%s", diff)
	}
	if got, want := reasons(all), "ObjectAccepted ObjectPlaced"; got != want {
		t.Errorf("events: want %q, got %q", want, got)
	}
	c := w.theCopy(w.cluster)
	if c.GetNamespace() != w.cluster || c.GetLabels()["app"] != "web" ||
		c.GetLabels()["syncagent.kcp.io/agent-name"] != "agent" {
		t.Errorf("copy: got %v", c.Object["metadata"])
	}
	want := map[string]string{
		"note": "<1>", objectsync.AnnotationName: "web", objectsync.AnnotationNamespace: w.input.Object.Namespace,
		objectsync.AnnotationKind:        "Thing.ws.example.com",
		objectsync.AnnotationPublication: "publication",
	}
	if diff := gocmp.Diff(want, c.GetAnnotations()); diff != "" {
		t.Errorf("annotations: -want, +got:\n%s", diff)
	}
	if diff := gocmp.Diff(w.source(w.input).Object["spec"], c.Object["spec"]); diff != "" {
		t.Errorf("spec: -source, +copy:\n%s", diff)
	}
	ns := &corev1.Namespace{}
	if err := w.below.Get(t.Context(), types.NamespacedName{Name: w.cluster}, ns); err != nil ||
		ns.Labels["tenant"] != w.cluster || ns.Annotations["of"] != "root:org" {
		t.Errorf("namespace: %v %v %v", ns.Labels, ns.Annotations, err)
	}

	w.patchStatus(w.below, c, `{"status":{"phase":"Ready","count":1,"conditions":[{"type":"Ready"}]}}`)
	above, below = w.writes(func() { all = w.mustSync(s, w.input) })
	if diff := gocmp.Diff(map[string]int{"patch things.ws.example.com/status": 1}, above); diff != "" {
		t.Errorf("requests above for the status: -want, +got:\n%s", diff)
	}
	if len(below) != 0 {
		t.Errorf("requests below for the status: want none, got %v", below)
	}
	if diff := gocmp.Diff(w.theCopy(w.cluster).Object["status"], w.source(w.input).Object["status"]); diff != "" {
		t.Errorf("status: -copy, +source:\n%s", diff)
	}

	second := w.second()
	w.create(w.above, thing(second.Object))
	above, below = w.writes(func() { w.mustSync(s, second) })
	if diff := gocmp.Diff([]map[string]int{
		{"patch things.ws.example.com": 1}, {"create things.example.org": 1, "create secrets": 1},
	}, []map[string]int{above, below}); diff != "" {
		t.Errorf("requests of the second object: -want, +got:\n%s", diff)
	}
	w.writesNothing("at rest", s, w.input)
}

// TestMerge shows that what others change of the copy stays until the consumer changes it.
func TestMerge(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	src := thing(w.input.Object)
	w.create(w.above, src)
	w.mustSync(s, w.input)
	w.patch(w.below, w.theCopy(w.cluster),
		`{"spec":{"defaulted":"by a webhook","secretName":"changed"},"metadata":{"labels":{"local":"x"}}}`)
	w.writesNothing("local changes", s, w.input)
	w.patch(w.above, src, `{"spec":{"size":null,"new":[1,2]}}`)
	_, below := w.writes(func() { w.mustSync(s, w.input) })
	if diff := gocmp.Diff(map[string]int{"patch things.example.org": 1, "patch secrets": 1}, below); diff != "" {
		t.Errorf("requests: -want, +got:\n%s", diff)
	}
	c := w.theCopy(w.cluster)
	if diff := gocmp.Diff(map[string]any{
		"secretName": "changed", "defaulted": "by a webhook", "new": []any{int64(1), int64(2)},
	}, c.Object["spec"]); diff != "" {
		t.Errorf("spec: -want, +got:\n%s", diff)
	}
	if c.GetLabels()["local"] != "x" {
		t.Error("a local label has not stayed")
	}
	w.patch(w.below, c, `{"metadata":{"labels":{"syncagent.kcp.io/agent-name":null}}}`)
	w.mustSync(s, w.input)
	if got := w.theCopy(w.cluster).GetLabels()["syncagent.kcp.io/agent-name"]; got != "agent" {
		t.Errorf("a label that tells whose copy it is: want it repaired, got %q", got)
	}
}

// TestNulls shows that nulls reach a copy and come up whenever they are set, by one write as ever: a copy that has got
// them later is what a new one is.
func TestNulls(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	fields := func() map[string]any {
		return map[string]any{
			"limits": map[string]any{"most": nil}, "list": []any{map[string]any{"a": nil}, nil}, "secretName": nil,
			"values": map[string]any{"first": nil, "in": map[string]any{"deep": nil, "x": int64(1)}},
		}
	}
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	for range 2 { // The second time each replaces a value.
		change(t, w.above, w.source(w.input), "spec", fields())
		_, below := w.writes(func() { w.mustSync(s, w.input) })
		if diff := gocmp.Diff(map[string]int{"patch things.example.org": 1, "patch secrets": 1}, below); diff != "" {
			t.Errorf("requests: -want, +got:\n%s", diff)
		}
		if diff := gocmp.Diff(fields(), w.theCopy(w.cluster).Object["spec"]); diff != "" {
			t.Errorf("spec that gets nulls: -want, +got:\n%s", diff)
		}
		change(t, w.below, w.theCopy(w.cluster), "status", fields())
		above, _ := w.writes(func() { w.mustSync(s, w.input) })
		if diff := gocmp.Diff(map[string]int{"patch things.ws.example.com/status": 1}, above); diff != "" {
			t.Errorf("requests for the status: -want, +got:\n%s", diff)
		}
		if diff := gocmp.Diff(fields(), w.source(w.input).Object["status"]); diff != "" {
			t.Errorf("status: -want, +got:\n%s", diff)
		}
		w.writesNothing("at rest", s, w.input)
		change(t, w.above, w.source(w.input), "spec", map[string]any{
			"limits": map[string]any{}, "list": []any{}, "secretName": "x", "values": "x",
		})
		w.mustSync(s, w.input)
		got, _, _ := unstructured.NestedInt64(w.theCopy(w.cluster).Object, "spec", "limits", "most")
		if got != 5 {
			t.Errorf("want the default of what the consumer does not set, got %d", got)
		}
		change(t, w.below, w.theCopy(w.cluster), "status", map[string]any{"list": "x", "values": "x"})
		w.mustSync(s, w.input)
	}
	second := w.second()
	w.create(w.above, thing(second.Object, func(u *unstructured.Unstructured) { u.Object["spec"] = fields() }))
	w.mustSync(s, second)
	for _, c := range w.copies(w.cluster) {
		if diff := gocmp.Diff(fields(), c.Object["spec"]); c.GetAnnotations()[objectsync.AnnotationName] == "second" &&
			diff != "" {
			t.Errorf("spec of a new copy: -want, +got:\n%s", diff)
		}
	}
}

// change replaces the spec or the status of an object, which has none for nil.
func change(t *testing.T, c client.Client, u *unstructured.Unstructured, field string, value any) {
	t.Helper()
	write := func() error { return c.Update(t.Context(), u) }
	if field == "status" {
		write = func() error { return c.Status().Update(t.Context(), u) }
	}
	if u.Object[field] = value; value == nil {
		delete(u.Object, field)
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
}

// TestMutation shows that both ways are changed as configured, and settle.
func TestMutation(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{Mutation: &v1alpha1.ResourceMutations{
		Spec: []v1alpha1.ResourceMutation{{Template: &v1alpha1.TemplateMutation{
			Path: "spec.secretName", Template: "{{ .Value }}-{{ .RemoteObject.metadata.name }}",
		}}},
		Status: []v1alpha1.ResourceMutation{{
			CEL: &v1alpha1.CELMutation{Path: "status.secret", Expression: "other.spec.secretName"},
		}},
	}})
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	c := w.theCopy(w.cluster)
	w.patchStatus(w.below, c, `{"status":{"secret":"leak","big":9007199254740993}}`)
	w.mustSync(s, w.input)
	if got, _, _ := unstructured.NestedString(c.Object, "spec", "secretName"); got != "tls-"+c.GetName() {
		t.Errorf("spec.secretName: got %q", got)
	}
	if diff := gocmp.Diff(map[string]any{"secret": "tls", "big": int64(9007199254740993)},
		w.source(w.input).Object["status"]); diff != "" {
		t.Errorf("status: -want, +got:\n%s", diff)
	}
}

// TestDeletion shows the order of a deletion: the consumer's finalizers, the copy with those of the service cluster,
// the state, ours.
func TestDeletion(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	src := thing(w.input.Object, func(u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.org/consumer"}) })
	w.create(w.above, src)
	w.mustSync(s, w.input)
	w.patch(w.below, w.theCopy(w.cluster), `{"metadata":{"finalizers":["example.org/operator"]}}`)
	kube.Delete(t, w.above, src)
	w.mustSync(s, w.input)
	if c := w.theCopy(w.cluster); c.GetDeletionTimestamp() != nil {
		t.Error("the copy is deleted while the consumer's finalizer is there")
	}
	w.patchStatus(w.below, w.theCopy(w.cluster), `{"status":{"phase":"Draining"}}`)
	w.mustSync(s, w.input)
	if got, _, _ := unstructured.NestedString(w.source(w.input).Object, "status", "phase"); got != "Draining" {
		t.Errorf("the status is no longer copied: %q", got)
	}
	w.patch(w.above, src, `{"metadata":{"finalizers":["`+objectsync.Finalizer+`"]}}`)
	w.mustSync(s, w.input)
	if c := w.theCopy(w.cluster); c.GetDeletionTimestamp() == nil || w.source(w.input) == nil || len(w.states()) != 1 {
		t.Error("want the copy in deletion, and the object and the state waiting for it")
	}
	w.patch(w.below, w.theCopy(w.cluster), `{"metadata":{"finalizers":null}}`)
	w.mustSync(s, w.input)
	if w.source(w.input) != nil || len(w.copies(w.cluster)) != 0 || len(w.states()) != 0 {
		t.Errorf("left behind: %v, %d copies, %d states", w.source(w.input), len(w.copies(w.cluster)), len(w.states()))
	}
}

// TestExisting shows what happens if the name of a new copy is taken: an object that belongs to nobody becomes the copy
// where no other workspace can have objects, or if the service owner says so. What is refused can go.
func TestExisting(t *testing.T) {
	was := map[string]any{"size": "S", "local": "x"}
	for name, tc := range map[string]struct {
		reason   string
		in, name string // where it is, by the rule for names; c1 and web by default
		policy   v1alpha1.ExistingObjectsPolicy
		labels   map[string]string
		err      error
		wantSpec map[string]any // was by default
	}{
		"Own":    {reason: "In the workspace's own namespace it does, as it is.", labels: map[string]string{"a": "b"}},
		"Unique": {reason: "And where its name is the workspace's own.", in: "shared", name: "$remoteClusterName-web"},
		"Shared": {reason: "Not where others could have that name.", in: "shared", err: objectsync.ErrExists},
		"Declared": {
			reason: "Unless that is asked for.", in: "shared", policy: v1alpha1.ExistingObjectsAdopt,
		},
		"Overwrite": {
			reason: "Or with the consumer's content.", policy: v1alpha1.ExistingObjectsOverwrite,
			wantSpec: map[string]any{"size": "L", "local": "x"},
		},
		"OtherTenant": {
			reason: "What belongs to another tenant stays what it is.", err: objectsync.ErrForeign,
			labels: map[string]string{objectsync.LabelCluster: "other", objectsync.LabelNameHash: "x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, below := withoutServers(t)
			naming := &v1alpha1.ResourceNaming{Namespace: tc.in, Name: cmp.Or(tc.name, "$remoteName")}
			s := w.syncer(&v1alpha1.PublishedResourceSpec{ExistingObjects: tc.policy, Naming: naming})
			at := types.NamespacedName{Namespace: cmp.Or(tc.in, w.cluster), Name: "web"}
			if tc.name != "" {
				at.Name = "c1-web"
			}
			u := objectOf(things.Service, at, map[string]any{"spec": was})
			u.SetLabels(tc.labels)
			below.put(things.Service.GroupVersionResource, u)
			enter(w.input, map[string]any{"size": "L"})
			r, err := s.Sync(t.Context(), w.input)
			last := r.Events[len(r.Events)-1]
			if want := map[bool]string{true: "ObjectPlaced", false: "NameTaken"}[tc.err == nil]; !errors.Is(err, tc.err) ||
				last.Reason != want {
				t.Errorf("%s\nwant %v and %q, got %v and %v", tc.reason, tc.err, want, err, r.Events)
			}
			if strings.Contains(last.Message, w.cluster) || strings.Contains(last.Message, at.String()) {
				t.Errorf("an event reveals the service cluster: %q", last.Message)
			}
			got := below.get(things.Service.GroupVersionResource, at)
			if tc.wantSpec == nil {
				tc.wantSpec = was
			}
			if diff := gocmp.Diff(tc.wantSpec, got.Object["spec"]); diff != "" ||
				(len(w.copies(w.cluster)) == 1) != (err == nil) {
				t.Errorf("%s\n-want, +got:\n%s%v", tc.reason, diff, got)
			}
			w.remove(s, w.input)
			if stays := below.get(things.Service.GroupVersionResource, at) != nil; stays != (tc.err != nil) {
				t.Errorf("%s\nIt stays when the object goes: %t", tc.reason, stays)
			}
		})
	}
}

// TestRecreation shows that a copy somebody deletes on the service cluster is made again, and that its object has no
// status before that, as when the copy loses its own.
func TestRecreation(t *testing.T) {
	w := newWorld(t)
	s := w.syncer(&v1alpha1.PublishedResourceSpec{})
	w.create(w.above, thing(w.input.Object))
	w.mustSync(s, w.input)
	was := w.theCopy(w.cluster)
	for _, gone := range []func(){
		func() { change(t, w.below, w.theCopy(w.cluster), "status", nil) },
		func() { kube.Delete(t, w.below, was.DeepCopy()) },
	} {
		w.patchStatus(w.below, was.DeepCopy(), `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
		if w.mustSync(s, w.input); w.source(w.input).Object["status"] == nil {
			t.Error("want the status of the copy")
		}
		gone()
		in := w.input
		in.Service = before(in.Service, "create", was.GetName(), func() {
			if status := w.source(in).Object["status"]; status != nil {
				t.Errorf("when a new copy is made, the object is as ready as its last one: %v", status)
			}
		})
		if w.mustSync(s, in); w.source(in).Object["status"] != nil {
			t.Errorf("the copy has no status, and the object has %v", w.source(in).Object["status"])
		}
		w.writesNothing("without a status", s, in)
	}
	if is := w.theCopy(w.cluster); is.GetUID() == was.GetUID() || is.GetName() != was.GetName() {
		t.Errorf("want a new object of the same name, got %v", is.Object["metadata"])
	}
}
