package objectsync_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// withPlain puts a Plain into the workspace of an input, to which things of the service cluster are related, and
// returns its input.
func withPlain(in objectsync.Input, size string) objectsync.Input {
	in.Object.Name = "plain"
	workspaceOf(in).put(plains.Workspace.GroupVersionResource,
		objectOf(plains.Workspace, in.Object, map[string]any{"spec": map[string]any{"size": size}}))
	return in
}

func labelledX(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetLabels(map[string]string{"app": "x"})
	return u
}

// names returns the names of all there is of a resource, sorted.
func (m *memory) names(r schema.GroupVersionResource) (out []string) {
	for n := range m.all[r] {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

// TestCopiesOfPublishedKind shows that where objects of an API are synced that is also related to another one, neither
// does a copy of an object of the consumer come up again, nor does a copy of a related object go down: they would
// become more and more.
func TestCopiesOfPublishedKind(t *testing.T) {
	w, below := withoutServers(t)
	above := workspaceOf(w.input)
	in := withPlain(w.input, "S")
	s := w.syncerOf(plains, related(v1alpha1.OriginService, selecting("up-{{ .Value }}", "x")))
	ofThings := w.syncer(&v1alpha1.PublishedResourceSpec{Naming: &v1alpha1.ResourceNaming{Name: "down-$remoteName"}})
	above.put(things.Workspace.GroupVersionResource, labelledX(thing(w.input.Object)))
	below.put(things.Service.GroupVersionResource, labelledX(objectOf(things.Service,
		types.NamespacedName{Namespace: w.cluster, Name: "operators"}, map[string]any{})))
	for range 3 {
		for _, name := range above.names(things.Workspace.GroupVersionResource) {
			one := w.input
			one.Object.Name = name
			if err := w.resync(ofThings, one); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.resync(s, in); err != nil {
			t.Fatal(err)
		}
	}
	got := above.names(things.Workspace.GroupVersionResource)
	if diff := cmp.Diff([]string{"up-operators", "web"}, got); diff != "" {
		t.Errorf("in the workspace: -want, +got:\n%s", diff)
	}
	got = below.names(things.Service.GroupVersionResource)
	if diff := cmp.Diff([]string{"down-web", "operators"}, got); diff != "" {
		t.Errorf("on the service cluster: -want, +got:\n%s", diff)
	}
}

// TestCopyOfAnotherWorkspace shows that the copy of an object of one workspace is not given to another one that may
// name all that is in its place.
func TestCopyOfAnotherWorkspace(t *testing.T) {
	w, _ := withoutServers(t)
	victim, in := w.input, withPlain(w.neighbor(), "c1-web")
	naming := &v1alpha1.ResourceNaming{Namespace: "shared", Name: "$remoteClusterName-$remoteName"}
	workspaceOf(victim).put(things.Workspace.GroupVersionResource, thing(victim.Object))
	if err := w.resync(w.syncer(&v1alpha1.PublishedResourceSpec{Naming: naming}), victim); err != nil {
		t.Fatal(err)
	}
	spec := open(related(v1alpha1.OriginService, byReference("spec.size")))
	spec.Naming = naming
	if err := w.resync(w.syncerOf(plains, spec), in); err != nil {
		t.Fatal(err)
	}
	if got := workspaceOf(in).names(things.Workspace.GroupVersionResource); len(got) != 0 {
		t.Errorf("want nothing in the other workspace, got %q", got)
	}
}
