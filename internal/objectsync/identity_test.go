package objectsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func identity(namespace, name string) Identity {
	return Identity{
		Primary: Primary{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, Cluster: "cluster1"},
		Agent:   "agent", Publication: "a/b/c", Kind: schema.GroupKind{Group: "example.org", Kind: "Thing"},
	}
}

// of returns an object with labels and annotations.
func of(labels, annotations map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Thing"}}
	u.SetName("copy")
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

func without(m map[string]string, keys ...string) map[string]string {
	for _, k := range keys {
		delete(m, k)
	}
	return m
}

func set(m map[string]string, key, value string) map[string]string {
	m[key] = value
	return m
}

// TestIdentityIsTheAgents holds the names and values that copies of api-syncagent have.
func TestIdentityIsTheAgents(t *testing.T) {
	i := identity("abc", "abc")
	i.Path = "root:org"
	wantLabels := map[string]string{
		"syncagent.kcp.io/remote-object-cluster":        "cluster1",
		"syncagent.kcp.io/remote-object-namespace-hash": "a9993e364706816aba3e25717850c26c9cd0d89d",
		"syncagent.kcp.io/remote-object-name-hash":      "a9993e364706816aba3e25717850c26c9cd0d89d",
		"syncagent.kcp.io/agent-name":                   "agent",
	}
	if diff := cmp.Diff(wantLabels, i.Labels()); diff != "" {
		t.Errorf("labels: -want, +got:\n%s", diff)
	}
	wantAnnotations := map[string]string{
		"syncagent.kcp.io/remote-object-namespace": "abc", "syncagent.kcp.io/remote-object-name": "abc",
		"syncagent.kcp.io/remote-object-workspace-path": "root:org",
		"syncagent.kcp.io/remote-object-kind":           "Thing.example.org",
		"syncagent.kcp.io/publication":                  "a/b/c",
	}
	if diff := cmp.Diff(wantAnnotations, i.Annotations()); diff != "" {
		t.Errorf("annotations: -want, +got:\n%s", diff)
	}
	if p, ok := SourceOf(of(i.Labels(), i.Annotations())); !ok || p != i.Primary {
		t.Errorf("SourceOf: got %v, %t", p, ok)
	}
}

// TestOwnershipOf shows whose copy an object is.
func TestOwnershipOf(t *testing.T) {
	i, other, cluster := identity("default", "web"), identity("default", "other"), identity("", "web")
	kind := i
	kind.Kind.Kind = "Other"
	for reason, tc := range map[string]struct {
		u    *unstructured.Unstructured
		want ownership
	}{
		"What has all is ours.": {of(i.Labels(), i.Annotations()), ours},
		"What the agent has left does not tell the kind.": {
			of(i.Labels(), without(i.Annotations(), AnnotationKind)), ours,
		},
		"What is missing can be repaired.": {
			of(without(i.Labels(), LabelCluster, v1alpha1.LabelKeyAgentName), i.Annotations()), ours,
		},
		"A workspace can have another path.": {of(i.Labels(), set(i.Annotations(), AnnotationPath, "root:old")), ours},
		"What no publication has belongs to who has the object.": {
			of(i.Labels(), without(i.Annotations(), AnnotationPublication)), ours,
		},
		"What says nothing belongs to no one.": {of(map[string]string{"a": "b"}, nil), unowned},
		"The copy of another object.":          {of(other.Labels(), other.Annotations()), foreign},
		"What another agent owns.": {
			of(set(i.Labels(), v1alpha1.LabelKeyAgentName, "other"), i.Annotations()), foreign,
		},
		"What comes by another APIExport, whatever its name.": {
			of(i.Labels(), set(i.Annotations(), AnnotationPublication, "a/other/c")), foreign,
		},
		"The copy of another tenant, whatever its name.": {
			of(set(i.Labels(), LabelCluster, "cluster2"), i.Annotations()), foreign,
		},
		"The copy of an object of another kind, which the labels do not tell.": {
			of(kind.Labels(), kind.Annotations()), foreign,
		},
		"The copy of an object with another namespace, or none.": {
			of(set(cluster.Labels(), LabelNamespaceHash, "x"), cluster.Annotations()), foreign,
		},
		"A state is nobody's copy.": {of(set(i.labels(), LabelState, "true"), nil), foreign},
	} {
		if got := i.ownershipOf(tc.u); got != tc.want {
			t.Errorf("%s Want %d, got %d", reason, tc.want, got)
		}
	}
}

// TestContent shows what is copied of an object: no label and no annotation by which a tenant could steer Crossplane,
// kcp or us.
func TestContent(t *testing.T) {
	u := of(map[string]string{
		"a": "b", "example.org/x": "y", "syncagent.kcp.io/agent-name": "stolen", "claimed.internal.apis.kcp.io/h": "x",
		"kcp.io/x":                 "y",
		"crossplane.io/claim-name": "x", "notkcp.io/x": "stays",
	}, map[string]string{
		"note": "1", "crossplane.io/paused": "true", "crossplane.io/external-name": "x", "kcp.io/cluster": "c",
		"kubernetes.crossplane.io/x":                       "y",
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "related-resources.syncagent.kcp.io/tls.0": "{}",
		"syncagent.kcp.io/remote-object-name": "x",
	})
	u.SetFinalizers([]string{Finalizer})
	u.SetUID("u")
	u.Object["spec"], u.Object["status"] = map[string]any{"x": "y"}, map[string]any{}
	u.Object["roleRef"], u.Object["none"] = map[string]any{"kind": "Role"}, nil
	want := map[string]any{
		"spec": map[string]any{"x": "y"}, "roleRef": map[string]any{"kind": "Role"}, "none": nil,
		"metadata": map[string]any{
			"labels":      map[string]any{"a": "b", "example.org/x": "y", "notkcp.io/x": "stays"},
			"annotations": map[string]any{"note": "1"},
		},
	}
	if diff := cmp.Diff(want, content(u, true)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if _, ok := content(u, false)["status"]; !ok {
		t.Error("a status that is no subresource is content")
	}
}

func TestChanged(t *testing.T) {
	labels := object{"metadata": object{"labels": object{"a": "b"}}}
	both := object{"metadata": object{"labels": object{"a": "b"}, "annotations": object{"c": "d"}}}
	for reason, tc := range map[string]struct{ from, to, want object }{
		"Nothing has changed.":         {from: labels, to: labels},
		"A first label comes.":         {from: object{}, to: labels, want: labels},
		"Others may have labels, too.": {from: labels, to: object{}, want: at([]string{"metadata", "labels", "a"}, nil)},
		"One kind of them may stay.":   {from: both, to: labels, want: at([]string{"metadata", "annotations", "c"}, nil)},
	} {
		if d := cmp.Diff(tc.want, changed(tc.from, tc.to)); d != "" {
			t.Errorf("%s\n-want, +got:\n%s", reason, d)
		}
	}
}
